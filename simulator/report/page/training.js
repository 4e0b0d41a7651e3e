// Training: curves of what each step gave as one number, the loss above all; phases of a step, bytes, the edge.
'use strict';

function curve(c) {
  const height = 170, [canvas, g] = surface(kChartWidth, height + 26), n = c.values.length;
  const finite = c.values.filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite);
  const x = i => kLeft + (n > 1 ? i / (n - 1) : 0.5) * kPlot;
  const y = v => 8 + (high > low ? (high - v) / (high - low) : 0.5) * (height - 16);
  timeAxis(g, 6, height - 6, Math.max(1, n - 1));
  rowLabel(g, c.name, 0, height);
  g.textAlign = 'right';
  for (const v of high > low ? [low, high] : [low]) g.fillText(v.toPrecision(4), kLeft - 8, y(v) + 4);
  g.textAlign = 'left';
  g.strokeStyle = '#1f6f8b';
  g.lineWidth = 1.5;
  g.beginPath();
  let pen = false;
  c.values.forEach((v, i) => {
    if (!Number.isFinite(v)) { pen = false; return; }
    if (pen) g.lineTo(x(i), y(v)); else g.moveTo(x(i), y(v));
    pen = true;
  });
  g.stroke();
  hover(canvas, e => {
    const i = Math.round((e.offsetX - kLeft) / kPlot * (n - 1));
    return i >= 0 && i < n ? `step ${number(i + 1)}\n${c.name} ${c.values[i] === null ? 'is no number' : c.values[i].toPrecision(6)}` : null;
  });
  return make('div', {className: 'figure'}, make('h3', {}, `${c.name}, by step`), canvas);
}

// Cycles of a step by phase.
function phaseBar(phases) {
  const [canvas, g] = surface(kChartWidth, 44), all = phases.reduce((sum, p) => sum + p.cycles, 0);
  const colours = {forward: '#1f6f8b', backward: '#99627d', update: '#7a8f3a'};
  rowLabel(g, 'one step', 0, 40);
  let x = kLeft;
  const ends = phases.map(p => {
    const width = p.cycles / all * kPlot;
    g.fillStyle = colours[p.name];
    g.fillRect(x, 6, width, 28);
    g.fillStyle = '#fff';
    if (g.measureText(p.name).width < width - 8) g.fillText(p.name, x + 4, 24);
    return x += width;
  });
  hover(canvas, e => {
    const p = phases[ends.findIndex(end => e.offsetX >= kLeft && e.offsetX < end)];
    return p ? `${p.name}: ${number(p.cycles)} cycles (${percent(p.cycles, all)})\n${p.kernels} kernels` : null;
  });
  return make('div', {className: 'figure'}, make('h3', {}, 'Cycles of a step: what of its critical path leads through the kernels of each phase'), canvas);
}

function trainingSection() {
  const t = stats.training, phases = t.phases.filter(p => p.cycles !== null);
  byId('curves').append(...stats.curves.map(curve));
  if (phases.length > 0) byId('phases').append(phaseBar(phases));
  const bytes = Object.entries(t.memory_by_purpose), all = bytes.reduce((sum, b) => sum + b[1], 0);
  show('purposes', table(bytes, [
    {title: 'Memory of all PEs', value: b => b[0], cell: b => b[0]},
    {title: 'Bytes', num: true, value: b => b[1]},
    {title: 'Share', num: true, value: b => b[1], cell: b => percent(b[1], all)}], 1));
  show('edge', table(t.edge, [
    {title: 'Crosses the edge', value: e => e.tensor, cell: e => e.tensor},
    {title: 'To', value: e => e.to, cell: e => e.to},
    {title: 'As', value: e => e.what, cell: e => e.what},
    {title: 'Bytes a step', num: true, value: e => e.bytes_per_step}], 3));
}
