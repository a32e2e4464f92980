// SPDX-License-Identifier: Apache-2.0
// Style and script of the report page. Kept inline: the page must open offline, from a mail attachment, for years.
#pragma once

namespace octet {

inline constexpr const char* kReportStyle = R"css(
:root { --ink:#1d2430; --soft:#667085; --line:#e3e7ee; --int8:#1f7a5c; --float:#b4540a; --bar:#4a7bd0; --cut:#c02f2f; }
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
.tag { border-radius:4px; padding:1px 6px; color:#fff; background:var(--float); white-space:nowrap }
.tag.int8 { background:var(--int8) }
input { font:inherit; padding:5px 9px; border:1px solid var(--line); border-radius:6px; margin:0 0 10px; width:min(340px,100%) }
.cards { display:grid; grid-template-columns:repeat(auto-fill,minmax(290px,1fr)); gap:12px }
figure { margin:0; border:1px solid var(--line); border-radius:8px; padding:8px 10px }
figcaption { font-size:12px; overflow-wrap:anywhere } figcaption span { color:var(--soft) }
svg { display:block; width:100% }
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
