// Package chart draws charts as SVG: curves, steps, distributions, scatter plots,
// stacked areas, Gantt charts, bars with intervals, strips of readings, and heat maps. The reports of the
// laboratory use it, and so may the dashboard.
//
// A chart is a value that holds its data. [Inline] draws it for a page that has
// included [Style] once; [File] draws a file that stands alone; [Table] returns the
// data as rows for a CSV file. Colours are classes, so that a page in the dark looks
// right; tooltips are title elements, so that no script is needed.
//
// The same data make the same bytes. Numbers that are not finite are left out, and a
// chart without data says so.
package chart
