// Helpers for all sections: numbers, elements, colours, canvas with the screen's resolution, tooltip.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const stats = data.stats;
const kStates = ['busy', ...Object.keys(stats.stalls), 'idle'];
// Okabe-Ito colours: told apart by colour-blind readers.
const kStateColors = {busy: '#0072b2', input: '#e69f00', output: '#d55e00', dependency: '#cc79a7', memory: '#8d8400',
  dispatch: '#56b4e9', idle: '#dfe4e9'};
const kStateWords = {busy: 'busy', input: 'waits for input', output: 'waits for output', dependency: 'dependency',
  memory: 'memory banks', dispatch: 'task start', idle: 'idle'};
const kOriginColors = {handwritten: '#3f5468', autogen: '#6a3fc0', host: '#b45309', primitive: '#0e7490'};

const byId = id => document.getElementById(id);
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'style') Object.assign(node.style, value);
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const number = (v, digits = 0) => v === null || v === undefined ? '–' :
  v.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
const percent = (part, whole, digits = 1) => whole > 0 ? number(100 * part / whole, digits) + ' %' : '–';
function short(v) {
  if (v === null || v === undefined) return '–';
  for (const [limit, letter] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M']])
    if (Math.abs(v) >= limit) return number(v / limit, 2) + ' ' + letter;
  return number(v, Math.abs(v) < 10 && v % 1 !== 0 ? 2 : 0);
}
function duration(cycles) {
  const us = cycles / stats.clock_mhz;
  if (us >= 1e6) return number(us / 1e6, 2) + ' s';
  if (us >= 1e3) return number(us / 1e3, 2) + ' ms';
  return number(us, 2) + ' µs';
}
const stateValue = (row, state) => state === 'busy' || state === 'idle' ? row[state] : row.stalls[state];
const total = row => kStates.reduce((sum, s) => sum + stateValue(row, s), 0);

function stateBar(row, small) {
  const sum = total(row);
  const bar = make('div', {className: small ? 'bar small' : 'bar'});
  for (const s of kStates) {
    const share = sum > 0 ? 100 * stateValue(row, s) / sum : 0;
    if (share > 0) bar.append(make('span', {style: {width: share + '%', background: kStateColors[s]}}));
  }
  hover(bar, () => kStates.filter(s => stateValue(row, s) > 0)
    .map(s => kStateWords[s] + ': ' + percent(stateValue(row, s), sum)).join('\n'));
  return bar;
}
function stateLegend(row) {
  const sum = row ? total(row) : 0;
  return make('div', {className: 'legend'}, ...kStates.filter(s => !row || stateValue(row, s) > 0).map(s => make('span', {},
    make('i', {style: {background: kStateColors[s]}}), kStateWords[s] + (row ? ' ' + percent(stateValue(row, s), sum) : ''))));
}
const tag = origin => make('span', {className: 'tag', style: {background: kOriginColors[origin] || '#555'}}, origin);

// The tooltip follows the pointer; `text` gets the mouse event and returns a string, or null for none.
function hover(node, text) {
  const tip = byId('tip');
  node.addEventListener('mousemove', e => {
    const t = text(e);
    tip.style.display = t ? 'block' : 'none';
    if (!t) return;
    tip.textContent = t;
    tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + 'px';
  });
  node.addEventListener('mouseleave', () => { tip.style.display = 'none'; });
}

// A canvas of width x height CSS pixels; returns [canvas, context] with the context scaled to them.
function surface(width, height) {
  const ratio = window.devicePixelRatio || 1;
  const canvas = make('canvas', {width: Math.round(width * ratio), height: Math.round(height * ratio)});
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.font = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
  return [canvas, context];
}

// Viridis at eight points, interpolated.
const kViridis = [[68, 1, 84], [70, 50, 127], [54, 92, 141], [39, 127, 142], [31, 161, 135], [74, 194, 109], [159, 218, 58], [253, 231, 37]];
function viridis(t) {
  const p = Math.max(0, Math.min(1, t)) * (kViridis.length - 1), i = Math.min(Math.floor(p), kViridis.length - 2), f = p - i;
  return 'rgb(' + kViridis[i].map((v, c) => Math.round(v + (kViridis[i + 1][c] - v) * f)).join(',') + ')';
}

// Round steps for an axis up to `max`.
function ticks(max, count) {
  const raw = max / count, power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const step = [1, 2, 5, 10].find(m => m * power >= raw) * power;
  const out = [];
  for (let v = 0; v <= max * 1.0001; v += step) out.push(v);
  return out;
}
