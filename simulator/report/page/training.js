// Curves of training: what each step gave as one number, the loss above all.
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
