package explain

import (
	"embed"
	"encoding/json"
	"html/template"
	"io"
	"strings"
)

//go:embed assets
var assets embed.FS

// Write writes the page: one file that loads nothing else.
func (s *Story) Write(w io.Writer) error {
	page, err := template.New("page.html").ParseFS(assets, "assets/page.html")
	if err != nil {
		return err
	}
	style, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return err
	}
	script, err := assets.ReadFile("assets/page.js")
	if err != nil {
		return err
	}
	data, err := json.Marshal(s) // escapes <, > and &, so it can be inside a script
	if err != nil {
		return err
	}
	var title strings.Builder
	for i, st := range s.Stages {
		if i > 0 {
			title.WriteString(", then ")
		}
		title.WriteString(st.Name)
	}
	return page.Execute(w, struct {
		Title string
		CSS   template.CSS
		JS    template.JS
		Data  template.JS
	}{title.String(), template.CSS(style), template.JS(script), template.JS(data)})
}
