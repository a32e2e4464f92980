// SPDX-License-Identifier: Apache-2.0
// Style and script of the report page. Kept inline: the page must open offline, from a mail attachment, for years.
#pragma once

namespace octet {

inline constexpr const char* kReportStyle = R"css(
:root { --ink:#1d2430; --soft:#667085; --line:#e3e7ee; --int8:#1f7a5c; --float:#b4540a; --half:#7a4fb5; --brain:#2f6fb0; --plain:#66707f; --bar:#4a7bd0; --cut:#c02f2f; }
* { box-sizing:border-box }
body { margin:0 auto; max-width:1280px; padding:24px; color:var(--ink); background:#fff;
  font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif }
h1 { font-size:24px; margin:0 0 16px; overflow-wrap:anywhere }
h2 { font-size:17px; margin:32px 0 8px }
p.note { color:var(--soft); margin:0 0 10px; max-width:80ch }
dl { display:grid; grid-template-columns:repeat(auto-fill,minmax(220px,1fr)); gap:10px; margin:0 }
dl div { border:1px solid var(--line); border-radius:8px; padding:8px 12px }
dt { color:var(--soft); font-size:12px } dd { margin:0; font-weight:600; overflow-wrap:anywhere }
.scroll { overflow-x:auto; border:1px solid var(--line); border-radius:8px }
table { border-collapse:collapse; width:100%; font-size:13px }
th,td { padding:5px 10px; text-align:left; border-bottom:1px solid var(--line); vertical-align:top }
th { background:#f6f8fb; position:sticky; top:0; white-space:nowrap }
th button { all:unset; cursor:pointer; font-weight:600 } th button:focus-visible { outline:2px solid var(--bar) }
th[aria-sort=ascending] button::after { content:" \25B2" } th[aria-sort=descending] button::after { content:" \25BC" }
td.n { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap }
td.w { overflow-wrap:anywhere; min-width:14ch }
.tag { border-radius:4px; padding:1px 6px; color:#fff; background:var(--plain); white-space:nowrap }
.tag.f32 { background:var(--float) } .tag.f16 { background:var(--half) } .tag.bf16 { background:var(--brain) }
td.bar { background:linear-gradient(#cfdcf3,#cfdcf3) no-repeat left bottom }
.split { display:grid; grid-template-columns:minmax(0,1fr) 320px; gap:12px }
.drawing { max-height:70vh; overflow:auto; padding:0 }
.drawing svg { width:auto; margin:0 auto }
#detail { border:1px solid var(--line); border-radius:8px; padding:8px 12px; overflow-wrap:anywhere; max-height:70vh; overflow:auto }
#detail dl { display:block } #detail dl div { border:0; padding:2px 0 }
.edge { fill:none; stroke:#b9c2d0; stroke-width:1.2 }
.box { cursor:pointer } .box rect { fill:var(--plain) } .box text { fill:#fff; font-size:11px; text-anchor:middle }
.box text.small { font-size:8.5px; fill:#ffffffcc }
.box.int8 rect { fill:var(--int8) } .box.f32 rect { fill:var(--float) } .box.f16 rect { fill:var(--half) } .box.bf16 rect { fill:var(--brain) }
.box.move rect { fill-opacity:.45 } .box.chosen rect { stroke:var(--ink); stroke-width:3 } .box:focus-visible { outline:2px solid var(--bar) }
@media (max-width:800px) { .split { grid-template-columns:1fr } }
tr.violated td { background:#fdecec }
.tag.int8 { background:var(--int8) }
input { font:inherit; padding:5px 9px; border:1px solid var(--line); border-radius:6px; margin:0 0 10px; width:min(340px,100%) }
.cards { display:grid; grid-template-columns:repeat(auto-fill,minmax(290px,1fr)); gap:12px }
figure { margin:0; border:1px solid var(--line); border-radius:8px; padding:8px 10px }
figcaption { font-size:12px; overflow-wrap:anywhere } figcaption span { color:var(--soft) }
svg { display:block; width:100% }
.cards.wide { grid-template-columns:repeat(auto-fill,minmax(420px,1fr)) }
.heat { background:#fff } .heat svg { margin:6px 0; shape-rendering:crispEdges } .heat p { margin:0 }
.cell { cursor:pointer; fill:#f7f7f7 } .cell.chosen { stroke:var(--ink); stroke-width:1.5 }
#heatkinds button { font:inherit; padding:4px 10px; border:1px solid var(--line); border-radius:6px; background:#fff; cursor:pointer }
#heatkinds button[aria-pressed=true] { background:var(--ink); color:#fff }
.bins { fill:var(--bar) } .cut { stroke:var(--cut); stroke-width:1.5 } .axis { stroke:var(--soft); stroke-width:.5 }
svg text { font-size:9px; fill:var(--soft) }
footer { color:var(--soft); margin-top:32px; font-size:12px }
)css";

inline constexpr const char* kReportScript = R"js(
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0];
  table.querySelectorAll('th').forEach((head, column) => {
    head.querySelector('button').addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
      const rows = [...body.rows].sort((a, b) => {
        const x = key(a), y = key(b), d = parseFloat(x) - parseFloat(y);
        return Number.isNaN(d) ? x.localeCompare(y, undefined, { numeric: true }) : d;
      });
      table.querySelectorAll('th').forEach(h => h.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}
const layerRows = [...document.querySelectorAll('#layers tbody tr')];
const layerTitles = [...document.querySelectorAll('#layers th')].map(head => head.textContent);
function choose(box) {
  document.querySelectorAll('.box.chosen').forEach(other => other.classList.remove('chosen'));
  box.classList.add('chosen');
  const row = layerRows[Number(box.dataset.i)], list = document.createElement('dl');
  layerTitles.forEach((title, i) => {
    if (!row.cells[i].textContent) return;
    const part = document.createElement('div'), term = document.createElement('dt'), text = document.createElement('dd');
    term.textContent = title;
    text.textContent = row.cells[i].textContent;
    part.append(term, text);
    list.append(part);
  });
  const detail = document.getElementById('detail');
  detail.replaceChildren(list);
  const card = [...document.querySelectorAll('.cards figure')].find(figure => figure.dataset.tensor === row.dataset.tensor);
  if (card) detail.append(card.cloneNode(true));
}
for (const box of document.querySelectorAll('.box')) {
  box.addEventListener('click', () => choose(box));
  box.addEventListener('keydown', event => { if (event.key === 'Enter') choose(box); });
}
// White to dark red by the square root of the error.
function heatColor(value, most) {
  if (!Number.isFinite(value)) return '#000';
  const share = value > 0 && most > 0 ? Math.min(1, Math.sqrt(value / most)) : 0;
  return `rgb(${[[247, 127], [247, 16], [247, 24]].map(([light, dark]) => Math.round(light + (dark - light) * share)).join()})`;
}
function drawHeat(kind) {
  for (const figure of document.querySelectorAll('.heat')) {
    const cells = [...figure.querySelectorAll('.cell')], value = cell => parseFloat(cell.dataset[kind]);
    const most = Math.max(...cells.map(value).filter(Number.isFinite));
    const isFinite = cell => Number.isFinite(parseFloat(cell.dataset.largest));
    for (const cell of cells) cell.style.fill = isFinite(cell) ? heatColor(value(cell), most) : heatColor(NaN, most);
  }
}
function chooseCell(cell) {
  const figure = cell.closest('.heat'), { r, c, mean, largest, relative } = cell.dataset;
  figure.querySelectorAll('.cell.chosen').forEach(other => other.classList.remove('chosen'));
  cell.classList.add('chosen');
  figure.querySelector('.told').textContent = `row ${r}, column ${c}: mean error ${mean}, largest ${largest}, relative ${relative}`;
}
for (const cell of document.querySelectorAll('.cell')) cell.addEventListener('click', () => chooseCell(cell));
const kinds = document.querySelectorAll('#heatkinds button');
for (const button of kinds) {
  button.addEventListener('click', () => {
    kinds.forEach(other => other.setAttribute('aria-pressed', String(other === button)));
    drawHeat(button.dataset.kind);
  });
}
drawHeat('mean');
const filter = document.getElementById('filter');
filter.addEventListener('input', () => {
  const wanted = filter.value.toLowerCase();
  for (const row of document.querySelectorAll('#layers tbody tr'))
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
  for (const card of document.querySelectorAll('.cards figure'))
    card.hidden = !card.textContent.toLowerCase().includes(wanted);
});
document.documentElement.dataset.ready = 'yes';
)js";

}  // namespace octet
