// Sortable tables: kernels, operators, comparison.
'use strict';

// columns: {title, value(row) for sorting, cell(row) -> node or text, num, wrap}
function table(rows, columns, sortBy = -1) {
  const body = make('tbody');
  let sorted = sortBy, up = false;
  const head = make('tr', {}, ...columns.map((c, i) => {
    const th = make('th', {className: c.num ? 'num' : '', title: c.help || ''}, c.title);
    th.onclick = () => {
      up = sorted === i ? !up : !c.num;
      sorted = i;
      fill();
    };
    return th;
  }));
  function fill() {
    const order = rows.slice();
    if (sorted >= 0) {
      const value = columns[sorted].value, sign = up ? 1 : -1;
      order.sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (x < y ? -1 : x > y ? 1 : 0);
      });
    }
    body.replaceChildren(...order.map(r => make('tr', {}, ...columns.map(c =>
      make('td', {className: c.num ? 'num' : c.wrap ? 'wrap-text' : ''}, c.cell ? c.cell(r) : number(c.value(r)))))));
    [...head.children].forEach((th, i) => { th.className = (columns[i].num ? 'num' : '') + (i === sorted ? ' sorted' + (up ? ' up' : '') : ''); });
  }
  fill();
  return make('table', {}, make('thead', {}, head), body);
}

function ratioText(ratio) {
  if (ratio <= 0) return '–';
  return make('span', {className: ratio < 0.995 ? 'faster' : ratio > 1.005 ? 'slower' : ''}, number(ratio, 2) + ' ×');
}

function counterpartCell(k) {
  const c = k.counterpart;
  if (!c) return '–';
  return make('div', {}, ratioText(c.ratio), make('div', {className: 'sub'}, `${number(c.this_cycles)} / ${number(c.cycles)}`), make('div', {className: 'sub', title: c.name}, c.origin));
}

function kernelTable() {
  const rows = stats.kernels.filter(k => k.copy === 0);
  const share = k => total(k) > 0 ? k.busy / total(k) : null;
  return table(rows, [
    {title: 'Kernel', value: k => k.name, cell: k => make('div', {}, make('b', {}, k.name), make('div', {className: 'sub'}, k.op))},
    {title: 'Origin', value: k => k.origin, cell: k => tag(k.origin)},
    {title: 'PEs', num: true, value: k => k.rect ? k.rect[2] * k.rect[3] : 0, help: 'width × height at x, y',
      cell: k => k.rect ? make('div', {}, `${k.rect[2]} × ${k.rect[3]}`, make('div', {className: 'sub'}, `at ${k.rect[0]}, ${k.rect[1]}`)) : 'host'},
    {title: 'Cycles', num: true, value: k => k.cycles, help: 'from the first task or the first wavelet waited for to the end of the last task, one sample'},
    {title: 'Ideal', num: true, value: k => k.rect ? k.ideal_cycles : null, help: 'lower bound from operations, bytes and links'},
    {title: 'Estimated', num: true, value: k => k.rect ? k.estimated_cycles : null, help: "the compiler's estimate"},
    {title: 'PE time', value: share, cell: k => k.rect && total(k) > 0 ?
      make('div', {}, stateBar(k, true), make('div', {className: 'sub'}, percent(k.busy, total(k)) + ' busy')) : '–'},
    {title: 'Bytes/PE', num: true, value: k => k.rect ? k.bytes_per_pe : null},
    {title: 'Colours', value: k => k.colours.length, cell: k => k.colours.join(' ') || '–'},
    {title: 'Counterpart', num: true, value: k => k.counterpart ? k.counterpart.ratio : null, cell: counterpartCell,
      help: 'cycles of this kernel over those of its counterpart, each simulated alone on the same rectangle'},
    {title: 'Why', wrap: true, value: k => k.reason, cell: k => k.reason},
  ]);
}

function opTable() {
  return table(stats.ops, [
    {title: 'Operator', value: o => o.name, cell: o => make('b', {}, o.name)},
    {title: 'Op', value: o => o.op, cell: o => o.op},
    {title: 'Origin', value: o => o.origin, cell: o => tag(o.origin)},
    {title: 'Kernels', value: o => o.kernels.join(), cell: o => o.kernels.join(', ') || '–'},
    {title: 'Model', value: o => o.where, cell: o => o.where},
    {title: 'Why', wrap: true, value: o => o.reason, cell: o => o.reason},
  ]);
}

function againstTable() {
  return table(stats.against, [
    {title: 'Figure', value: c => c.name, cell: c => c.name},
    {title: 'This', num: true, value: c => c.this, cell: c => number(c.this, c.this % 1 ? 3 : 0)},
    {title: data.against || 'Base', num: true, value: c => c.base, cell: c => number(c.base, c.base % 1 ? 3 : 0)},
    {title: 'This / base', num: true, value: c => c.ratio, cell: c => c.base === 0 ? '–' : number(c.ratio, 3)},
    {title: '', value: c => c.ratio, cell: c => {
      const width = 240, [canvas, g] = surface(width, 14);
      const position = Math.max(-1, Math.min(1, Math.log2(c.ratio || 1) / 3)) * width / 2;
      g.fillStyle = '#eef1f4';
      g.fillRect(0, 0, width, 14);
      g.fillStyle = '#0072b2';
      g.fillRect(width / 2 + Math.min(0, position), 2, Math.abs(position), 10);
      g.fillStyle = '#5b6876';
      g.fillRect(width / 2 - 0.5, 0, 1, 14);
      return canvas;
    }},
  ]);
}
