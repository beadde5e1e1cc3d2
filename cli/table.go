package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
)

// newTable returns a table that keeps to the width of the terminal: cells that are too long are wrapped.
func newTable(w io.Writer, header ...any) table.Writer {
	t := &fitted{Writer: table.NewWriter(), out: w, room: roomOf(w)}
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.keep(header)
	t.AppendHeader(header)
	return t
}

// roomOf returns how many columns there are: those of the terminal, or what COLUMNS says; 0 if unknown.
func roomOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n := console.Width(f); n > 0 {
			return n
		}
	}
	n, _ := strconv.Atoi(os.Getenv("COLUMNS")) // an invalid number counts as 0
	return n
}

// fitted is a table that knows its cells.
type fitted struct {
	table.Writer
	out   io.Writer
	room  int
	cells [][]string // the header first
	fixed []table.ColumnConfig
}

func (t *fitted) keep(row table.Row) {
	var cells []string
	for _, c := range row {
		cells = append(cells, fmt.Sprint(c))
	}
	t.cells = append(t.cells, cells)
}

// AppendRow adds a row. It makes control characters in cells harmless.
func (t *fitted) AppendRow(row table.Row, config ...table.RowConfig) {
	for i, c := range row {
		if s, ok := c.(string); ok {
			row[i] = human.Lines(s)
		}
	}
	t.keep(row)
	t.Writer.AppendRow(row, config...)
}

// SetColumnConfigs says how columns look.
func (t *fitted) SetColumnConfigs(configs []table.ColumnConfig) { t.fixed = configs }

// Render prints the table. If it is too wide, it omits empty columns. If not even the longest words fit side by side,
// it prints row by row, with a line for each cell.
func (t *fitted) Render() string {
	configs, ok := t.narrow()
	if !ok {
		return t.list()
	}
	t.Writer.SetColumnConfigs(append(t.fixed, configs...))
	return t.Writer.Render()
}

// widths returns the lengths of the longest cell and the longest word of each column.
func (t *fitted) widths() (cell, word []int) {
	for _, row := range t.cells {
		for i, c := range row {
			if i == len(cell) {
				cell, word = append(cell, 0), append(word, 0)
			}
			cell[i] = max(cell[i], text.LongestLineLen(c))
			for w := range strings.FieldsSeq(c) {
				word[i] = max(word[i], text.StringWidth(w))
			}
		}
	}
	return cell, word
}

// narrow shrinks the widest columns until a line fits; it returns false if it never does.
func (t *fitted) narrow() (out []table.ColumnConfig, ok bool) {
	full, least := t.widths()
	wide := slices.Clone(full)
	total := 1
	for _, n := range wide {
		total += n + 3 // blanks and a separator
	}
	for i := range wide {
		if t.room > 0 && total > t.room && t.empty(i) {
			out = append(out, table.ColumnConfig{Number: i + 1, Hidden: true})
			total -= wide[i] + 3
			wide[i], full[i], least[i] = 0, 0, 0
		}
	}
	for ; t.room > 0 && total > t.room; total-- {
		widest := -1
		for i, n := range wide {
			if n > least[i] && (widest < 0 || n > wide[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		wide[widest]--
	}
	for i, n := range wide {
		if n < full[i] {
			out = append(out, table.ColumnConfig{Number: i + 1, WidthMax: n, WidthMaxEnforcer: text.WrapSoft})
		}
	}
	return out, true
}

// empty reports whether no row has anything in a column.
func (t *fitted) empty(column int) bool {
	return len(t.cells) > 1 && !slices.ContainsFunc(t.cells[1:], func(row []string) bool { return column < len(row) && row[column] != "" })
}

// list returns each row as lines of a name and a value, followed by an empty line. Further lines of a value are aligned
// with its first.
func (t *fitted) list() string {
	names := t.cells[0]
	wide := 0
	for _, n := range names {
		wide = max(wide, text.StringWidth(n))
	}
	indent := strings.Repeat(" ", wide+2)
	var b strings.Builder
	for _, row := range t.cells[1:] {
		for j, c := range row {
			if c != "" {
				fmt.Fprintln(&b, text.Pad(names[j], wide, ' ')+"  "+strings.Join(wrapped(c, t.room-len(indent)), "\n"+indent))
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprint(t.out, b.String())
	return b.String()
}

// wrapped breaks a text between words into lines of at most columns columns.
func wrapped(s string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && text.StringWidth(line)+1+text.StringWidth(word) > columns {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
