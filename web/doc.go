// Package web is the dashboard: what a cluster does, as pages for a browser. It is read-only: every page is made of
// answers of the JSON API, and where something could be done the page names the command that does it.
//
//	h := web.New(web.Config{Call: call})   // call makes a call of /api/v1 in the name of whoever looks
//
// Pages are templates with charts as SVG; they work without scripts. A small script asks for the page again every two seconds
// and replaces what has changed. Nothing is loaded from elsewhere, and the headers forbid it.
package web
