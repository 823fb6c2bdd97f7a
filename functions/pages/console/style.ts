// The style of the console, after that of all pages: the whole width, from a phone to a wall screen.
import { style } from '../style.ts'

export const consoleStyle = `${style}
.console { max-width: none; padding: 0; font-size: 1rem }
.skip { position: absolute; left: -99rem }
.skip:focus { left: .5rem; top: .5rem; z-index: 3; background: var(--card); padding: .5rem 1rem }
.console .top { display: flex; flex-wrap: wrap; gap: 0 1.25rem; padding: .25rem 1.25rem;
  background: var(--card); border-bottom: 1px solid var(--line); color: var(--ink) }
.console .brand { display: flex; gap: .5rem; align-items: center; font-weight: 700; min-height: 2.75rem;
  color: var(--ink); text-decoration: none }
.tabs { display: flex; flex-wrap: wrap; flex: 1 1 auto }
.tabs a { white-space: nowrap; flex: none; color: var(--soft); padding: .625rem .75rem; text-decoration: none; min-height: 2.75rem;
  border-bottom: 3px solid transparent; font-weight: 600 }
.tabs a:hover { color: var(--ink) }
.tabs a[aria-current] { color: var(--ink); border-bottom-color: var(--ask) }
.whom { display: flex; align-items: center; gap: .75rem; color: var(--soft); font-weight: 400;
  font-size: .875rem }
.whom form { margin: 0 } .whom button:disabled { color: inherit; text-decoration: none; cursor: default }
.console .slim, .console .slim.go { display: inline-block; width: auto; min-height: 2.75rem; padding: .375rem .875rem;
  font-size: .9375rem; line-height: 1.5 }
.console th, .console td { overflow-wrap: break-word }
.console td[data-label=Result] { overflow-wrap: anywhere }
.console td[data-label=State], .console .slim { white-space: nowrap }
.console td[data-label=State] .note { white-space: normal }
.console main { padding: .75rem 1.25rem 3rem; max-width: 120rem; margin: 0 auto }
.console h1 { font-size: 1.5rem; margin: .5rem 0 }
.console h2 { margin: 1rem 0 .375rem }
.count { color: var(--soft); font-weight: 400 }
.health { margin: .25rem 0 .5rem; padding: .125rem .875rem; border-radius: .5rem; border: 1px solid var(--tone);
  background: var(--tone-ground) }
.health a { display: inline-block; color: var(--ink); padding: .375rem 0; text-underline-offset: .2em }
.trouble { margin: .375rem 0; padding: .375rem .875rem }
.lead-in { display: flex; flex-wrap: wrap; gap: 0 1.25rem; align-items: center }
.strip { flex: 0 1 auto; margin: 0 } .strip[open] { flex-basis: 100% } .console .strip > summary, p.strip { min-height: 2.5rem; padding: .375rem 0; display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: center; font-size: .9375rem; list-style: none }
.strip > summary::-webkit-details-marker { display: none } .strip > summary::after { content: '▸'; color: var(--soft) } .strip[open] > summary::after { content: '▾' }
.sum { white-space: nowrap } .sum i { color: var(--tone); font-style: normal } p.strip .bad { color: var(--bad); font-weight: 600 }
.tools { display: flex; flex-wrap: wrap; gap: 0 1.25rem; align-items: baseline; margin-left: auto } .tools > .fold[open] { flex-basis: 100% }
button.plain, .button.plain { background: var(--stay); border: 1px solid var(--edge); color: var(--ink) }
.next { margin: 0 0 .375rem; font-weight: 700; font-size: 1.125rem; border-left: .375rem solid var(--ask); padding-left: .625rem }
/* there, the time is how long it has lasted */
.rows.bad .when b, .rows.wait .when b { font-weight: 400 } .next span { white-space: nowrap } .next a { color: var(--ink); padding: .375rem 0 }
.trouble a { color: var(--ink) }
.empty.ask, .empty.good { border-color: var(--tone); background: var(--tone-ground); color: var(--ink) }
.bar { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; justify-content: space-between; margin: .5rem 0 0 }
.fold summary { color: var(--link); text-decoration: underline; text-underline-offset: .2em; display: inline-block }
.fold[open] { flex-basis: 100% }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0; padding: 0; list-style: none }
.tiles li { flex: 0 1 auto; background: var(--card); border: 1px solid var(--line);
  border-left: .25rem solid var(--tone, var(--line)); border-radius: .5rem }
.tiles a, .tiles li > span { display: block; min-height: 2.5rem; padding: .25rem .875rem; color: inherit; text-decoration: none }
.tiles a:hover { text-decoration: underline }
.tiles b { font-size: 1.375rem; font-variant-numeric: tabular-nums }
.tiles small { color: var(--soft); font-size: .875rem; margin-left: .375rem }
.rows { background: var(--card); border: 1px solid var(--line); border-left: .25rem solid var(--tone); border-radius: .5rem }
.row { display: grid; gap: 0 1rem; align-items: center; padding: .25rem .875rem; border-top: 1px solid var(--line);
  scroll-margin-top: 1rem; grid-template-columns: 9rem minmax(12rem, 1fr) 6rem 7rem minmax(14rem, 1fr) 36rem }
.news { display: flex; flex-wrap: wrap; gap: .25rem .75rem }
.news p:empty { display: none }
.row:first-child { border-top: 0 } .row .kind { display: contents }
.row p { margin: 0; font-size: .9375rem; line-height: 1.25 } .row p:has(.chip) { margin: .1875rem 0; line-height: 1.6 }
.row .said { grid-column: 1 / -1; margin: .25rem 0 .5rem }
.row h3 { margin: 0; font-size: 1rem; line-height: 1.35; color: var(--ink) }
.row h3 a { display: inline-block; color: var(--ink); text-decoration-thickness: 1px; text-underline-offset: .2em; padding: .375rem 0 .125rem }
.when b { white-space: nowrap; display: block; font-size: 1.0625rem; font-variant-numeric: tabular-nums }
.when small { color: var(--soft); font-size: .875rem }
.reached { white-space: nowrap; color: var(--tone); margin-right: .375rem }
.act form { display: flex; flex-wrap: wrap; gap: .5rem; justify-content: flex-end; margin: 0 }
.act button, .act .button { width: auto; min-height: 2.75rem; padding: .375rem .875rem; font-size: .9375rem; line-height: 1.5; white-space: nowrap }
.act { position: relative } .act > .button { display: flex; align-items: center; justify-content: center; width: max-content; margin: 0 0 0 auto }
.act .after > div, .bulk > div { position: absolute; right: 0; top: calc(100% + .25rem); z-index: 2; width: min(30rem, 100%); margin: 0;
  display: grid; gap: .375rem; box-shadow: 0 .25rem 1rem #0004, 0 0 0 100vmax #0003 }
.bulk > div { right: .875rem; top: 3.25rem; width: min(46rem, calc(100% - 1.75rem)) } .bulk > div > p { margin: 0 }
.act .after > div > * { margin: 0 }
.row .taken { font-weight: 600 }
.act .take, .act .prepare { padding: .375rem .625rem; font-weight: 400 }
.act .take { min-width: 5.25rem } .act button[value=not_now] { min-width: 14rem } .act .after summary { min-width: 11.25rem }
.why { font-size: .875rem; color: var(--soft); margin: 0 }
.why input { display: block; width: 100%; min-height: 2.75rem; font: inherit; color: var(--ink); background: var(--ground);
  border: 1px solid var(--edge); border-radius: .375rem; padding: .375rem .625rem; margin-top: .125rem }
.cluster { border-top: 1px solid var(--line); box-shadow: inset .375rem 0 0 color-mix(in srgb, var(--tone) 45%, transparent) }
.cluster .row .when { padding-left: .625rem } .cluster .head .when { min-width: 9rem }
.cluster:first-child { border-top: 0 }
.cluster { position: relative } .cluster .head { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: center; min-height: 3rem; padding: .125rem 10.5rem .125rem .875rem; color: var(--ink); text-decoration: none }
.cluster > .bulk > summary { position: absolute; right: .875rem; top: .125rem; z-index: 1 } .cluster .head .all { color: var(--link); text-decoration: underline; text-underline-offset: .2em; font-size: .9375rem; white-space: nowrap }
.cluster .head h3 { margin: 0; font-size: 1rem; color: var(--ink) }
.bulk summary { width: auto; min-height: 2.75rem; padding: .375rem .875rem; font-size: .9375rem; line-height: 1.5 }
.bulk ul { margin: .25rem 0 .5rem; padding-left: 1.25rem; columns: 18rem auto; max-height: 30vh; overflow: auto }
.bulk form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: 0 }
.bulk .why { flex: 1 1 16rem }
.bulk button { width: auto }
.act .moved { margin: .375rem 0 }
.chip.bad, .chip.ask, .chip.good, .chip.wait { background: var(--tone-ground); border: 1px solid var(--tone) }
.mark { font-weight: 700; color: var(--tone) }
.empty { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1.25rem;
  color: var(--soft); text-align: center }
.first { text-align: left } .first p { margin: 0 } .first ol { margin: .5rem 0 0; padding-left: 1.25rem } .first li { margin: .375rem 0 } code { background: var(--over-ground); border-radius: .25rem; padding: 0 .25rem; overflow-wrap: anywhere }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--card) }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; line-height: 1.4 }
th, td { text-align: left; padding: .5rem .75rem; vertical-align: top; border-top: 1px solid var(--line) }
thead th { border-top: 0; color: var(--soft); font-size: .8125rem; white-space: nowrap; background: var(--card) }
tbody th { font-weight: 600 }
tbody tr:hover { background: var(--ground) }
td .t, td .chip, td .badge, .brief td[data-label=In], .brief td[data-label=When], .brief td[data-label=Took], .brief td[data-label=Decided], .brief td[data-label=Nobody] { white-space: nowrap }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.filter { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: end; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; margin: .5rem 0 1rem }
.filter label { margin: 0; font-size: .8125rem; font-weight: 600; color: var(--soft); flex: 1 1 9rem }
.filter input, .filter select { display: block; width: 100%; min-height: 2.75rem; font: inherit; font-weight: 400;
  color: var(--ink); background: var(--ground); border: 1px solid var(--edge); border-radius: .375rem;
  padding: .375rem .625rem; font-size: .9375rem; margin-top: .125rem }
.filter .rest { display: contents }
.filter .all { display: none; flex: 0 0 auto; align-self: center } .filter .all input { display: inline-block; width: auto; min-height: 0; margin: 0 .375rem 0 0 }
.pager { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; margin: .75rem 0; align-items: center }
.pager a { padding: .625rem 0 }
.columns { display: grid; gap: 0 2rem; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr) }
.columns > * { min-width: 0 }
.console .lost { margin: 0 }
.decide form { display: grid; grid-template-columns: minmax(0, 30rem); gap: .375rem; margin: .5rem 0 } .decide .after { margin-bottom: .5rem } .decide .take { justify-self: start; padding-left: 0 }
.decide form > .hint { margin: 0 0 .5rem }
.console main > p:first-child { margin: 0 }
.console .record li { margin: 0; padding: .375rem 0 }
.lanes { margin: .75rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .875rem }
.lane { display: grid; grid-template-columns: minmax(6rem, 14rem) minmax(0, 1fr) 4.5rem; gap: .75rem; align-items: center;
  border-top: 1px solid var(--line); padding: .125rem 0 }
.lane b { padding-left: .25rem; font-weight: 600; font-size: .9375rem }
.lane svg { display: block; width: 100%; height: 1.75rem }
.lane text { fill: var(--card); font-size: .75rem; font-weight: 600; pointer-events: none }
.lane text.grid { fill: var(--soft); font-weight: 400; stroke: none; font-variant-numeric: tabular-nums }
.lane rect { fill: var(--tone); stroke: var(--card); stroke-width: 1; vector-effect: non-scaling-stroke }
.lane rect.guess { fill-opacity: .4; stroke: var(--tone); stroke-width: 1.5; stroke-dasharray: 3 2 }
.lane rect.close { fill: var(--ask-ground); stroke: var(--ask) }
.lane.axis { border-top: 0; color: var(--soft); font-size: .8125rem }
.lane.clash { box-shadow: -.25rem 0 0 var(--ask) }
.console .record a { padding: .25rem 0 }
tbody th { min-width: 7rem }
.charts { columns: 30rem auto; column-gap: .875rem }
.chart { break-inside: avoid; margin-bottom: .875rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem .875rem }
.console .chart h2 { margin: 0 0 .5rem; font-size: 1.0625rem }
.bars, .legend { list-style: none; margin: 0; padding: 0 }
.bars li { display: grid; grid-template-columns: 8rem minmax(4rem, 1fr) 4.5rem; gap: .75rem; align-items: center;
  padding: .1875rem 0; border-top: 1px solid var(--line); font-size: .9375rem }
.bars svg { display: block; width: 100%; height: 1.125rem }
.bar-text { font-variant-numeric: tabular-nums }
/* the whole bar leads where its name leads */
.bars li { position: relative } .bars a::after { content: ''; position: absolute; inset: 0 }
tbody a, .bars a, tbody summary { display: inline-block; min-height: 1.5rem } tbody summary { padding: 0 } tbody ul { margin: .25rem 0; padding-left: 1.25rem; font-weight: 400 }
.parted svg, .parted .bar-text { grid-column: 2 / -1 }
.parted li { row-gap: .125rem }
.cancel { display: inline-flex; align-items: center; min-height: 2.75rem; padding: 0 .75rem; justify-self: center }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-bottom: .5rem; font-size: .875rem; color: var(--soft) }
svg a rect:hover { filter: brightness(1.15) } .legend i.ask, .legend i.wait, .legend i.good, .legend i.over, .legend i.bad { --fill: var(--tone) }
.legend i { display: inline-block; width: .75rem; height: .75rem; border-radius: .125rem; margin-right: .375rem; background: var(--fill) }
.bars rect { fill: var(--fill) }
.c0 { --fill: #4969c6 } .c1 { --fill: #1b7c83 } .c2 { --fill: #8250df } .c3 { --fill: #b5508a } .c4 { --fill: #6e7781 } .c5 { --fill: #7d6a4f } .c6 { --fill: #52796f }
.console main.narrow { max-width: 26rem; margin: 2rem auto }
.note { color: var(--soft); font-size: .9375rem }
.console form.inline { display: inline-block; margin: 0 } .console a.slim { display: inline-flex; align-items: center; font-weight: 600 }
td[data-label=''] { text-align: right; padding-top: .25rem; padding-bottom: .25rem } .stack.channels { table-layout: fixed }
.channels th .note { font-weight: 400 } .channels th:nth-child(1), .channels th:nth-child(2) { width: 26% } .channels th:nth-child(3) { width: 19% }
.pair { display: flex; gap: .75rem; flex: 2 1 19rem }
svg .grid { stroke: var(--line) }
svg .now { stroke: var(--ink); stroke-width: 2 }
.wall { font-size: 1.25rem } .wall .live { margin: 0 auto 0 0; font-variant-numeric: tabular-nums }
.below { margin: 0; font-weight: 700 } .wall .top { align-items: center } .wall main { padding-top: .5vh; padding-bottom: 0 }
.hero { margin: 0; color: var(--ink); line-height: 1; display: flex; flex-wrap: wrap; gap: 0 3vw; align-items: baseline } .hero b { font-size: 12vw; color: var(--tone); font-variant-numeric: tabular-nums; white-space: nowrap } .hero > span { font-size: 3.4vw }
.counts { list-style: none; display: flex; flex-wrap: wrap; gap: 0 4vw; margin: .5vh 0; padding: 0; font-size: 2vw } .counts b { font-size: 6vw; line-height: 1.1; color: var(--tone); font-variant-numeric: tabular-nums } .wall .chip { font-size: .75em }
.lines { list-style: none; margin: .5vh 0 0; padding: 0 } .lines li { display: flex; gap: 2vw; align-items: baseline; font-size: 2.2vw; line-height: 1.5; border-top: 1px solid var(--line); border-left: .5vw solid var(--tone); padding-left: 1vw; white-space: nowrap; overflow: hidden } .lines b { white-space: nowrap; min-width: 8.5em; font-variant-numeric: tabular-nums } .unpaged li:nth-child(n+9) { display: none }
.calm { text-align: center; padding: 12vh 0; line-height: 1.1 } .calm p { margin: 0 0 2vh; font-size: 2.4vw } .calm b { font-size: 10vw; color: var(--tone) } .wall p.strip { font-size: 1.6vw }
@media (max-width: 45rem) { .hero > span, .lines li { font-size: 5vw; white-space: normal } .counts { font-size: 4vw } .hero b { font-size: 16vw } .calm p, .wall p.strip { font-size: 4.5vw } .lines b { min-width: 7em; max-width: 7em; white-space: normal } }
/* what is old fades, the warnings about it do not */
.stale .row > :not(.act), .stale .tiles, .stale .lines, .stale .hero, .stale table { opacity: .55 }
@media (max-width: 60rem) { .columns { grid-template-columns: minmax(0, 1fr) } }
@media (max-width: 100rem) { .row { grid-template-columns: 7rem minmax(10rem, 1fr) 7rem 33rem; grid-template-rows: auto 1fr; align-items: start }
  .row .fleet, .row .when { padding-top: .25rem } .cluster .head .when { min-width: 7rem }
  .row .when, .row .act { grid-row: 1 / span 2 } .row .act { grid-column: 4 }
  .row .what { grid-area: 1 / 2 } .row .news { grid-area: 2 / 2 } .row .kind { display: block; grid-area: 1 / 3 / span 2 } }
@media (max-width: 75rem) { .row { grid-template-columns: 6.5rem minmax(7rem, 1fr) 5.5rem 30.5rem; grid-template-rows: auto 1fr }
  .act form { gap: .375rem } .act button, .act .button { padding: .375rem .625rem } .act .take { min-width: 4.5rem } .act button[value=not_now] { min-width: 11rem } .act .after summary { min-width: 9.5rem } }
@media screen and (max-width: 45rem) {
  .console .top, .console main { padding-left: .875rem; padding-right: .875rem }
  .tabs { order: 3; flex-wrap: nowrap; overflow-x: auto; flex-basis: 100%; margin: 0 -.875rem; padding: 0 .25rem }
  .whom { margin-left: auto } .whom span { display: none } .tabs a { padding: .625rem .5rem }
  .tiles { gap: .375rem } .tiles li { flex: 1 1 5rem; font-size: .875rem } .tiles a, .tiles li > span { padding: .25rem .5rem } .tiles b { display: block } .tiles small { display: none }
  .row { grid-template-columns: 1fr auto auto; grid-template-rows: none; gap: 0 .75rem } .row .kind { display: contents } .row .when { grid-area: 1 / 1 } .row .fleet { grid-area: 1 / 2 } .row .type { grid-area: 1 / 3 } .row .fleet, .row .type { margin: 0; padding-top: .25rem; line-height: 1.6 }
  .row .what { grid-area: 2 / 1 / 3 / -1 } .row .news { grid-area: 3 / 1 / 4 / -1 } .row .act { grid-area: 4 / 1 / 5 / -1 }
  .row .told { display: none } .act .take { background: none; border: 0; color: var(--link); font-weight: 400; min-height: 2.75rem } .act form { display: grid; grid-template-columns: 1fr 1fr; margin: .25rem 0 .375rem } .act button, .act .button { width: 100%; min-width: 0; height: 100%; padding: .375rem .25rem; font-size: .875rem; white-space: normal }
  .act form:has(.take) { grid-template-columns: 4rem 1fr 1fr } .act > .button { width: 100%; margin: .25rem 0 .375rem }
  .act .after summary, .act button[value=not_now] { min-width: 0; height: 100% }
  .act .after > div, .bulk > div { position: fixed; inset: auto 0 0; width: auto; max-height: 80vh; overflow: auto; border-radius: .75rem .75rem 0 0; padding: 1rem }
  .bulk form { flex-direction: column; align-items: stretch } .bulk form > button { width: 100% } .bulk [value=approve] { order: 1 } .bulk [value=not_now] { order: 2 } .bulk .cancel { order: 3; align-self: center }
  .console .strip > summary { position: relative; padding-right: 1.25rem } .console .strip > summary::after { position: absolute; right: 0 } .next { font-size: 1rem }
  .tabbed { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .health { line-height: 1.75 } .health a { display: inline; padding: 0 }
  .filter .all { display: block } .filter:has(.all input:not(:checked)) .rest { display: none }
  .lane { grid-template-columns: 1fr auto; gap: 0 } .lane svg { grid-area: 2 / 1 / 3 / -1 }
  .bars li { grid-template-columns: 6rem 1fr; gap: .125rem .75rem }
  .bar-text { grid-column: 2 }
  .lane.axis b, .lane.axis text:nth-of-type(even) { display: none }
  .stack thead { position: absolute; left: -99rem }
  .stack tr { display: block; padding: .5rem .75rem; border-top: 1px solid var(--line) }
  .stack tr:first-child { border-top: 0 }
  .stack th, .stack td { display: block; border: 0; padding: .125rem 0; text-align: left }
  .stack.channels th { width: auto }
  .stack td { position: relative; padding-left: 7.5rem }
  .stack td.number { text-align: left }
  .stack td::before { content: attr(data-label); position: absolute; left: 0; color: var(--soft); font-size: .875rem }
  .stack td:empty { display: none }
  .stack.channels td { display: inline-block; padding: .125rem .75rem .125rem 0; font-size: .875rem } .stack.channels td::before { position: static; margin-right: .25rem } .channels td[data-label=Health] { display: block } .channels td[data-label=Health]::before { content: none }
  .brief tr { position: relative } .brief td { display: inline-block; padding: .125rem .75rem .125rem 0; font-size: .875rem } .brief td::before { content: none !important }
  .brief td[data-label=Decided]::before { content: 'decided: ' !important; position: static } .brief td[data-label=Nobody], .brief td[data-label=Version], .brief td[data-label=Seen], .brief td[data-label=Group] { display: none }
  .brief th a { display: inline-block; padding: .375rem 0 } .brief th a::after { content: ''; position: absolute; inset: 0 }
}
@media (min-width: 60rem) { .wall p.strip .bad { white-space: nowrap } }
@media (min-width: 110rem) { .console { font-size: 1.125rem } .console main { padding-left: 2rem; padding-right: 2rem }
  .console.wall { font-size: 1.5rem }
}
@media (forced-colors: active) { .tabs a { border-bottom-color: Canvas } .tabs a[aria-current] { border-bottom-color: Highlight }
  .legend i, .lane rect, .bars rect { forced-color-adjust: none } }
@media print { .console .top, .console main { padding: 0; border: 0 }
  .whom, .tools, .pager, .waiting, .skip, .reason, details:has(> form.filter) { display: none !important }
  .scroll { overflow: visible; border: 0 }
  .console th, .console td[data-label] { padding: .25rem .5rem; overflow-wrap: break-word; white-space: normal }
  .lane svg { height: 28px }
  tbody th { min-width: 0 } td .t, td .badge { white-space: normal }
  .legend i { print-color-adjust: exact }
  .fold::details-content { content-visibility: visible; display: block } .fold .all { display: none } }
`
