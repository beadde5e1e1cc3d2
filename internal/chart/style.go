package chart

import "fmt"

// colours is how many series have different colours. Further ones start again.
const colours = 8

// Style is the style sheet of all charts, for the head of a page.
const Style = `.chart{--paper:#fff;--ink:#222;--faint:#767676;--grid:#e3e3e3;--c0:#1b5fa8;--c1:#d1651a;--c2:#2d8a57;--c3:#a63a7a;--c4:#7a6a10;--c5:#4a4fb5;--c6:#127f8a;--c7:#b33030;--mark:#111;--published:#8c8c8c;font:11px system-ui,sans-serif;max-width:100%;height:auto}
@media (prefers-color-scheme:dark){.chart{--paper:#181a1b;--ink:#ddd;--faint:#9a9a9a;--grid:#333;--c0:#7fb2ee;--c1:#f0a060;--c2:#77cfa0;--c3:#e08cc0;--c4:#d3c060;--c5:#a5a9f5;--c6:#6fd0da;--c7:#f08a8a;--mark:#fff;--published:#9a9a9a}}
.chart text{fill:var(--ink);font-size:11px}.chart .title{font-size:13px;font-weight:600}.chart .tick,.chart .none{fill:var(--faint)}
.chart .tie{stroke-width:.7;stroke-opacity:.6}
.chart .note{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}.chart .grid{stroke:var(--grid)}.chart .axis{stroke:var(--faint)}.chart .mark{stroke:var(--mark);stroke-dasharray:5 3}.chart .published{stroke:var(--published);stroke-width:4}.chart .value{font-variant-numeric:tabular-nums}.chart .open{fill:var(--paper);stroke-width:2}.chart .whisker{stroke:var(--ink);stroke-width:1.5}
.chart .line{fill:none;stroke-width:1.8;stroke-linejoin:round}.chart .dots{fill:none;stroke-width:5;stroke-linecap:round;stroke-opacity:.5}.chart .dot{fill-opacity:.65;stroke:none}.chart .bar,.chart .span,.chart .area{stroke:none}.chart .area{fill-opacity:.75}.chart .cell{fill:var(--c0);stroke:none}.chart .empty{fill:var(--grid)}
.chart .f0{fill:var(--c0)}.chart .f1{fill:var(--c1)}.chart .f2{fill:var(--c2)}.chart .f3{fill:var(--c3)}.chart .f4{fill:var(--c4)}.chart .f5{fill:var(--c5)}.chart .f6{fill:var(--c6)}.chart .f7{fill:var(--c7)}
.chart .s0{stroke:var(--c0)}.chart .s1{stroke:var(--c1)}.chart .s2{stroke:var(--c2)}.chart .s3{stroke:var(--c3)}.chart .s4{stroke:var(--c4)}.chart .s5{stroke:var(--c5)}.chart .s6{stroke:var(--c6)}.chart .s7{stroke:var(--c7)}
.chart .line.s1{stroke-dasharray:9 3}.chart .line.s2{stroke-dasharray:4 3}.chart .line.s4{stroke-dasharray:9 3 2 3}.chart .line.s6{stroke-dasharray:2 3}
`

func fill(i int) string { return fmt.Sprintf("f%d", wrap(i)) }

func stroke(i int) string { return fmt.Sprintf("s%d", wrap(i)) }

func wrap(i int) int { return ((i % colours) + colours) % colours }
