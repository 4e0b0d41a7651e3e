// Floorplan and heat maps over the PEs that do something. North is up, (0, 0) is the north-west corner of the fabric.
'use strict';

const area = data.maps.area;
const kernelAt = (x, y) => stats.kernels.filter(k => k.rect && x >= k.rect[0] && y >= k.rect[1] && x < k.rect[0] + k.rect[2] && y < k.rect[1] + k.rect[3]);

// Size of one PE in pixels so that the area fits into width x height.
const scaleFor = (width, height) => Math.min(width / area[2], height / area[3], 72);

function fitText(g, text, x, y, w, h) {
  if (h < 12 || w < 14) return;
  let shown = text;
  while (shown.length > 1 && g.measureText(shown).width > w - 6) shown = shown.slice(0, -1);
  if (shown.length < text.length) shown = shown.length > 3 ? shown.slice(0, -1) + '…' : '';
  g.fillText(shown, x + 4, y + Math.min(15, h / 2 + 5));
}

function floorplan() {
  const scale = scaleFor(1160, 420), width = Math.max(1, area[2] * scale), height = Math.max(1, area[3] * scale);
  const [canvas, g] = surface(width + 2, height + 2);
  const boxes = stats.kernels.length > 0 ? stats.kernels.filter(k => k.rect).map(k => ({name: k.name, rect: k.rect, color: kOriginColors[k.origin]})) : tileBoxes();
  g.translate(1, 1);
  g.fillStyle = '#f0f3f6';
  g.fillRect(0, 0, width, height);
  if (scale >= 4) {
    g.strokeStyle = '#dde3e9';
    g.lineWidth = 0.5;
    g.beginPath();
    for (let x = 0; x <= area[2]; ++x) { g.moveTo(x * scale, 0); g.lineTo(x * scale, height); }
    for (let y = 0; y <= area[3]; ++y) { g.moveTo(0, y * scale); g.lineTo(width, y * scale); }
    g.stroke();
  }
  for (const k of boxes) {
    const [x, y, w, h] = [(k.rect[0] - area[0]) * scale, (k.rect[1] - area[1]) * scale, k.rect[2] * scale, k.rect[3] * scale];
    g.fillStyle = k.color + 'cc';
    g.fillRect(x, y, w, h);
    g.strokeStyle = '#ffffff';
    g.lineWidth = 1.5;
    g.strokeRect(x + 0.5, y + 0.5, Math.max(0, w - 1), Math.max(0, h - 1));
    g.fillStyle = '#fff';
    // Narrow and tall rectangles are labelled from bottom to top.
    if (h > w * 1.6 && w >= 12) {
      g.save();
      g.translate(x, y + h);
      g.rotate(-Math.PI / 2);
      fitText(g, k.name, 0, 0, h, w);
      g.restore();
    } else {
      fitText(g, k.name, x, y, w, h);
    }
  }
  hover(canvas, e => {
    const x = area[0] + Math.floor((e.offsetX - 1) / scale), y = area[1] + Math.floor((e.offsetY - 1) / scale);
    const found = kernelAt(x, y), tile = found.length > 0 ? null : tileAt(x, y);
    return `PE (${x}, ${y})` + (tile ? '\n' + tile.name : '') + found.map(k => `\n${k.name}: ${k.op}, ${k.origin}`).join('');
  });
  const origins = stats.kernels.length === 0 ? [] : [...new Set(stats.kernels.filter(k => k.rect).map(k => k.origin))];
  const legend = make('div', {className: 'legend'}, ...origins.map(o => make('span', {}, make('i', {style: {background: kOriginColors[o]}}), o)),
    make('span', {}, `PEs x ${area[0]} … ${area[0] + area[2] - 1}, y ${area[1]} … ${area[1] + area[3] - 1}`));
  return make('div', {className: 'figure'}, make('h3', {}, 'Floorplan'), canvas, legend);
}

function colorScale(low, high, unit) {
  const [canvas, g] = surface(150, 9);
  for (let x = 0; x < 150; ++x) { g.fillStyle = viridis(x / 149); g.fillRect(x, 0, 1.5, 9); }
  return make('div', {className: 'scale'}, number(low), canvas, `${number(high, high < 10 ? 1 : 0)} ${unit}`);
}

function heatMap(map) {
  const m = data.maps, scale = scaleFor(565, 260) * m.cell;
  const high = map.values.reduce((a, b) => Math.max(a, b), 0);
  const [canvas, g] = surface(m.columns * scale, m.rows * scale);
  const gap = scale >= 8 ? 0.5 : 0, bleed = scale < 8 ? 0.5 : 0;
  for (let r = 0; r < m.rows; ++r)
    for (let c = 0; c < m.columns; ++c) {
      g.fillStyle = viridis(high > 0 ? map.values[r * m.columns + c] / high : 0);
      g.fillRect(c * scale, r * scale, scale - gap + bleed, scale - gap + bleed);
    }
  hover(canvas, e => {
    const c = Math.floor(e.offsetX / scale), r = Math.floor(e.offsetY / scale);
    if (c < 0 || r < 0 || c >= m.columns || r >= m.rows) return null;
    const x = area[0] + c * m.cell, y = area[1] + r * m.cell, v = map.values[r * m.columns + c];
    return `PE (${x}, ${y})${kernelAt(x, y).map(k => ' ' + k.name).join('')}\n${map.name}: ${number(v, map.unit === 'bytes' ? 0 : 2)} ${map.unit}`;
  });
  return make('div', {className: 'figure'}, make('h3', {}, map.name[0].toUpperCase() + map.name.slice(1)), canvas, colorScale(0, high, map.unit));
}

// Mean and largest value of each map over each kernel's rectangle, or over the PEs of each tile program.
function mapTable() {
  const m = data.maps;
  const over = (rects, map) => {
    let sum = 0, count = 0, top = 0;
    for (const r of rects) for (let y = r[1]; y < r[1] + r[3]; ++y)
      for (let x = r[0]; x < r[0] + r[2]; ++x) {
        const v = map.values[Math.floor((y - area[1]) / m.cell) * m.columns + Math.floor((x - area[0]) / m.cell)];
        sum += v;
        top = Math.max(top, v);
        ++count;
      }
    return [count ? sum / count : 0, top];
  };
  const rows = stats.kernels.length > 0 ? stats.kernels.filter(k => k.rect).map(k => ({name: k.name, values: m.maps.map(map => over([k.rect], map))}))
    : kTiles.map(t => ({name: t.name, values: m.maps.map(map => over(t.rects, map))}));
  const columns = [{title: stats.kernels.length > 0 ? 'Kernel' : 'Tile program', value: r => r.name, cell: r => r.name}];
  m.maps.forEach((map, i) => columns.push({title: `${map.name}: mean / max, ${map.unit}`, num: true, value: r => r.values[i][1],
    cell: r => `${number(r.values[i][0], map.unit === 'bytes' ? 0 : 1)} / ${number(r.values[i][1], map.unit === 'bytes' ? 0 : 1)}`}));
  return table(rows, columns);
}
