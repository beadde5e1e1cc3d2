// Package chart draws charts as SVG: curves, steps, distributions, scatter plots, stacked areas, Gantt charts, bars
// with intervals, strips of readings, and heat maps, for the laboratory's reports and the dashboard.
//
// A chart is a value that holds its data. [Inline] draws it for a page that has included [Style] once, [File] draws
// a standalone file, and [Table] returns the data as rows for a CSV file. Colours are classes, so that dark pages
// look right. Tooltips are title elements, so that no script is needed.
//
// The same data make the same bytes. Non-finite numbers are left out, and a chart without data says so.
package chart
