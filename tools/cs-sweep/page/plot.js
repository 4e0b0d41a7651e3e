// Plot and table of ROWS. What a row is called comes first in it (program, machine, policy, swept keys), then its
// outcome, then its figures.
'use strict';
const byId = id => document.getElementById(id);
const columns = [...new Set(ROWS.flatMap(row => Object.keys(row)))].filter(name => name !== 'error').concat('error');
const keys = columns.slice(0, columns.indexOf('outcome'));
const figures = columns.filter(name => !keys.includes(name) && ROWS.some(row => typeof row[name] === 'number'));
const different = name => new Set(ROWS.map(row => row[name])).size > 1;
const swept = keys.filter(different);
const COLORS = ['#2f6fde', '#d1495b', '#2a9d5c', '#8e5bd0', '#c98a12', '#1797a6', '#7a8794', '#b0508f'];

function options(select, names, chosen) {
  for (const name of names) select.add(new Option(name, name, false, chosen.includes(name)));
  select.addEventListener('change', draw);
}

function element(name, attributes, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  if (text !== undefined) e.textContent = text;
  return byId('plot').appendChild(e);
}

const short = v => typeof v !== 'number' ? String(v ?? '') : Number.isInteger(v) ? v.toLocaleString('en') : v.toPrecision(5);

// Places of the values of x: numbers to scale, words side by side.
function across(x, rows) {
  const values = [...new Set(rows.map(row => row[x]))];
  const numbers = values.every(v => typeof v === 'number');
  if (numbers) values.sort((a, b) => a - b);
  const low = values[0], span = values[values.length - 1] - low;
  const place = v => 80 + 780 * (numbers && span > 0 ? (v - low) / span
                                                      : (values.indexOf(v) + .5) / values.length);
  return {values, place};
}

function draw() {
  const x = byId('x').value, y = byId('y').value, log = byId('log').checked;
  const by = [...byId('series').selectedOptions].map(o => o.value).filter(name => name !== x);
  const rows = ROWS.filter(row => typeof row[y] === 'number' && (!log || row[y] > 0));
  byId('plot').replaceChildren();
  byId('legend').replaceChildren();
  if (rows.length === 0) return;
  const scale = log ? Math.log10 : v => v;
  const high = Math.max(...rows.map(row => scale(row[y])));
  const low = log ? Math.min(...rows.map(row => scale(row[y]))) : Math.min(0, ...rows.map(row => row[y]));
  const up = v => 380 - 350 * (high > low ? (scale(v) - low) / (high - low) : .5);
  for (let i = 0; i <= 5; ++i) {
    const v = low + (high - low) * i / 5, shown = log ? 10 ** v : v;
    element('line', {class: 'grid', x1: 80, x2: 880, y1: up(shown), y2: up(shown)});
    element('text', {x: 74, y: up(shown) + 4, 'text-anchor': 'end'}, Number(shown.toPrecision(3)).toLocaleString('en'));
  }
  const {values, place} = across(x, rows);
  for (const v of values) element('text', {x: place(v), y: 400, 'text-anchor': 'middle'}, short(v));
  element('text', {x: 470, y: 416, 'text-anchor': 'middle'}, x);
  const groups = Map.groupBy ? Map.groupBy(rows, row => by.map(name => row[name]).join(', ')) : new Map([['', rows]]);
  let n = 0;
  for (const [name, members] of groups) drawSeries(name, members, COLORS[n++ % COLORS.length], {x, y, place, up});
}

function drawSeries(name, members, color, {x, y, place, up}) {
  const points = members.map(row => [place(row[x]), up(row[y]), row]).sort((a, b) => a[0] - b[0]);
  element('polyline', {class: 'series', stroke: color, points: points.map(p => `${p[0]},${p[1]}`).join(' ')});
  for (const [px, py, row] of points) {
    const dot = element('circle', {cx: px, cy: py, r: 4, fill: color});
    const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
    title.textContent = [...swept, y].map(key => `${key}: ${short(row[key])}`).join('\n');
    dot.appendChild(title);
  }
  const entry = byId('legend').appendChild(document.createElement('span'));
  entry.appendChild(document.createElement('i')).style.background = color;
  entry.append(name || y);
}

function table(order) {
  const t = byId('rows');
  t.replaceChildren();
  const head = t.insertRow();
  for (const name of columns) {
    const cell = head.appendChild(document.createElement('th'));
    cell.textContent = name;
    cell.addEventListener('click', () => table(name));
  }
  const rows = [...ROWS];
  if (order) rows.sort((a, b) => a[order] < b[order] ? -1 : a[order] > b[order] ? 1 : 0);
  for (const row of rows) {
    const tr = t.insertRow();
    tr.className = row.outcome === 'ok' ? '' : 'bad';
    for (const name of columns) {
      const cell = tr.insertCell();
      cell.textContent = short(row[name]);
      if (typeof row[name] !== 'number') cell.className = 'text';
    }
  }
}

const numeric = swept.find(name => ROWS.every(row => typeof row[name] === 'number'));
options(byId('x'), swept.length ? swept : keys, [numeric ?? swept[0]]);
options(byId('y'), figures, ['interval_cycles', 'cycles'].filter(name => ROWS.some(row => typeof row[name] === 'number')).slice(0, 1));
options(byId('series'), swept, swept.filter(name => name !== (numeric ?? swept[0])));
byId('log').addEventListener('change', draw);
const good = ROWS.filter(row => row.outcome === 'ok').length;
byId('count').textContent = `${ROWS.length} points, ${good} ok`;
draw();
table();
