package play

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"sync"
)

//go:embed assets
var assets embed.FS

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").ParseFS(assets, "assets/page.html"))
})

// page is what the template shows.
type page struct {
	Title, About   string
	Back           string // address of the page before, if there is one
	CSS            template.CSS
	JS, Playground template.JS
	Data           template.HTML // recordings: packed, gzip, base64
}

// newPage returns a page with its style and script inside.
func newPage(title, about string) page {
	return page{Title: title, About: about, CSS: template.CSS(asset("player.css")), JS: template.JS(asset("unpack.js") + asset("player.js"))}
}

// asset reads an embedded file.
func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// Write writes a page that plays one recording, or two on one clock. It is a single file that loads nothing. back, if
// not empty, is the address of the page that leads to it.
func Write(w io.Writer, back, about string, recordings ...*Recording) error {
	if n := len(recordings); n != 1 && n != 2 {
		return fmt.Errorf("a page shows one or two recordings, not %d", n)
	}
	data, err := packText(recordings)
	if err != nil {
		return err
	}
	p := newPage("millrace player", about)
	p.Back = back
	p.Data = template.HTML(data)
	return pageTemplate().Execute(w, p)
}
