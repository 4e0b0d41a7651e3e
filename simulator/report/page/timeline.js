// States of the PEs over time, activity of each kernel over time, and when each kernel works on one sample.
'use strict';

const kLeft = 132, kChartWidth = 1160, kPlot = kChartWidth - kLeft - 12;

function timeAxis(g, top, height, cycles) {
  g.fillStyle = '#5b6876';
  g.strokeStyle = '#d5dbe1';
  g.lineWidth = 1;
  for (const t of ticks(cycles, 8)) {
    const x = kLeft + t / cycles * kPlot;
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, top + height + 4);
    g.stroke();
    g.textAlign = 'center';
    g.fillText(number(t), x, top + height + 17);
  }
  g.textAlign = 'left';
}

function rowLabel(g, text, y, height) {
  g.fillStyle = '#1c2530';
  let shown = text;
  while (shown.length > 1 && g.measureText(shown).width > kLeft - 14) shown = shown.slice(0, -1);
  g.textAlign = 'right';
  g.fillText(shown.length < text.length ? shown.slice(0, -1) + '…' : shown, kLeft - 8, y + height / 2 + 4);
  g.textAlign = 'left';
}

const binsCycles = () => stats.cycles > 0 ? Math.max(stats.cycles, (data.timeline.bins.length - 1) * data.timeline.bin_cycles) : 1;
const binAt = (t) => data.timeline.bins[Math.floor(t / data.timeline.bin_cycles)];

function stackedStates() {
  const height = 190, cycles = binsCycles(), bin = data.timeline.bin_cycles;
  const [canvas, g] = surface(kChartWidth, height + 26);
  timeAxis(g, 6, height - 6, cycles);
  data.timeline.bins.forEach((b, i) => {
    const sum = b.pe.reduce((a, v) => a + v, 0);
    const x0 = kLeft + i * bin / cycles * kPlot, x1 = Math.min(kLeft + kPlot, kLeft + (i + 1) * bin / cycles * kPlot);
    let y = height;
    b.pe.forEach((v, s) => {
      const h = sum > 0 ? v / sum * (height - 6) : 0;
      y -= h;
      g.fillStyle = kStateColors[kStates[s]];
      g.fillRect(x0, y, x1 - x0 + 0.4, h + 0.4);
    });
  });
  rowLabel(g, 'share of PEs', 0, height);
  if (stats.model) stats.sample_end.forEach(end => {
    const x = kLeft + end / cycles * kPlot;
    g.strokeStyle = '#14202c';
    g.setLineDash([3, 3]);
    g.beginPath();
    g.moveTo(x, 6);
    g.lineTo(x, height);
    g.stroke();
    g.setLineDash([]);
  });
  hover(canvas, e => {
    const t = (e.offsetX - kLeft) / kPlot * cycles, b = t >= 0 ? binAt(t) : null;
    if (!b) return null;
    const sum = b.pe.reduce((a, v) => a + v, 0);
    return `cycle ${number(Math.floor(t))}\n` + b.pe.map((v, s) => v > 0 ? `${kStateWords[kStates[s]]}: ${percent(v, sum)}` : null).filter(Boolean).join('\n');
  });
  const legend = stateLegend(null);
  if (stats.sample_end.length > 0 && stats.model) legend.append(make('span', {}, '┊ end of a sample'));
  return make('div', {className: 'figure'}, make('h3', {}, 'What the PEs did'), canvas, legend);
}

function activity() {
  const kernels = stats.kernels.map((k, i) => ({k, i})).filter(e => e.k.rect);
  if (kernels.length === 0) return null;
  const row = 17, cycles = binsCycles(), bin = data.timeline.bin_cycles;
  const [canvas, g] = surface(kChartWidth, kernels.length * row + 30);
  timeAxis(g, 4, kernels.length * row, cycles);
  kernels.forEach(({k, i}, n) => {
    rowLabel(g, k.name, 4 + n * row, row);
    const pes = k.rect[2] * k.rect[3];
    data.timeline.bins.forEach((b, j) => {
      const length = Math.min(bin, Math.max(1, cycles - j * bin));
      const x0 = kLeft + j * bin / cycles * kPlot, x1 = Math.min(kLeft + kPlot, x0 + bin / cycles * kPlot);
      g.fillStyle = viridis(b.kernels[i] / (pes * length));
      g.fillRect(x0, 4 + n * row + 1, x1 - x0 + 0.4, row - 2);
    });
  });
  hover(canvas, e => {
    const t = (e.offsetX - kLeft) / kPlot * cycles, n = Math.floor((e.offsetY - 4) / row), b = t >= 0 ? binAt(t) : null;
    if (!b || n < 0 || n >= kernels.length) return null;
    const {k, i} = kernels[n];
    return `${k.name}, cycle ${number(Math.floor(t))}\nbusy: ${percent(b.kernels[i], k.rect[2] * k.rect[3] * bin)}`;
  });
  return make('div', {className: 'figure'}, make('h3', {style: {marginTop: '20px'}}, 'Busy share of each kernel, whole run'), canvas, colorScale(0, 100, '%'));
}

function oneSample() {
  const rows = stats.kernels.filter(k => k.first_task !== null && k.copy === 0);
  if (rows.length === 0) return null;
  const start = Math.min(...rows.map(k => k.first_task)), cycles = Math.max(1, ...rows.map(k => k.last_task_end)) - start;
  const row = 20, [canvas, g] = surface(kChartWidth, rows.length * row + 30);
  timeAxis(g, 4, rows.length * row, cycles);
  rows.forEach((k, n) => {
    const y = 4 + n * row, x = kLeft + (k.first_task - start) / cycles * kPlot, w = Math.max(2, (k.last_task_end - k.first_task) / cycles * kPlot);
    rowLabel(g, k.name, y, row);
    g.fillStyle = kOriginColors[k.origin] || '#555';
    g.fillRect(x, y + 3, w, row - 6);
    const label = number(k.cycles) + ' cycles';
    const inside = g.measureText(label).width + 10 < w;
    g.fillStyle = inside ? '#fff' : '#1c2530';
    if (inside || x + w + 90 < kChartWidth) g.fillText(label, inside ? x + 5 : x + w + 5, y + row / 2 + 4);
  });
  return make('div', {className: 'figure'}, make('h3', {style: {marginTop: '20px'}}, 'One sample: when each kernel works on it'), canvas);
}

// A row per core of the host: what it worked on, whole run.
function hostCores() {
  if (data.host_work.length === 0) return null;
  const row = 20, cores = stats.host.cores, cycles = binsCycles();
  const [canvas, g] = surface(kChartWidth, cores * row + 30);
  timeAxis(g, 4, cores * row, cycles);
  for (let core = 0; core < cores; ++core) rowLabel(g, `host core ${core}`, 4 + core * row, row);
  for (const w of data.host_work) {
    const x = kLeft + w.begin / cycles * kPlot, width = Math.max(1, (w.end - w.begin) / cycles * kPlot - 0.5);
    g.fillStyle = kOriginColors.host;
    g.globalAlpha = w.sample % 2 === 0 ? 1 : 0.6;
    g.fillRect(x, 4 + w.core * row + 3, width, row - 6);
  }
  g.globalAlpha = 1;
  hover(canvas, e => {
    const t = (e.offsetX - kLeft) / kPlot * cycles, core = Math.floor((e.offsetY - 4) / row);
    const w = data.host_work.find(w => w.core === core && w.begin <= t && t < w.end);
    return w ? `${w.op}, makes ${w.makes}\nsample ${w.sample}, cycles ${number(w.begin)} to ${number(w.end)}` : null;
  });
  return make('div', {className: 'figure'}, make('h3', {style: {marginTop: '20px'}}, `Operators on the host, ${percent(stats.host.busy, cores * stats.cycles)} of its cores' time`), canvas);
}

function timelineSection() {
  const parts = [data.timeline.bins.length > 0 ? stackedStates() : null, launchBars(), data.timeline.bins.length > 0 ? activity() : null, hostCores(), oneSample()];
  return make('div', {}, ...parts.filter(Boolean));
}
