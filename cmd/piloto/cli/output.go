package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"piloto/internal/ground/visible"
)

// printJSON writes a value to stdout. In its strings, invisible characters are escaped.
func (con *console) printJSON(v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if con.isTerm {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(con.out, visible.Escaped(b.String()))
	return err
}

// print writes one line to stdout, every character of which is visible.
func (con *console) print(line string) error {
	_, err := fmt.Fprintln(con.out, visible.Line(line))
	return err
}

// result prints a value: as JSON, or as one line.
func (con *console) result(value any, line string) error {
	if con.json {
		return con.printJSON(value)
	}
	return con.print(line)
}

// printLines writes lines to stdout.
func (con *console) printLines(lines ...string) error {
	_, err := io.WriteString(con.out, strings.Join(lines, "\n")+"\n")
	return err
}

// table writes rows to stdout: the keys of the titles, then the cells. Cells are values of others, so every character
// of them is visible.
func (con *console) table(titles []string, rows [][]string) error {
	w := tabwriter.NewWriter(con.out, 0, 4, 2, ' ', 0)
	head := make([]string, len(titles))
	for i, t := range titles {
		head[i] = strings.ToUpper(con.text(t))
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = visible.Line(c)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// list prints values: as JSON, or as a table.
func (con *console) list(all any, titles []string, rows [][]string) error {
	if con.json {
		return con.printJSON(all)
	}
	if len(rows) == 0 {
		con.report("cli.nothing")
		return nil
	}
	return con.table(titles, rows)
}

// moment returns a time of this machine.
func moment(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Local().Format("2006-01-02 15:04") //nolint:gosmopolitan // a person reads it
}

// money returns millionths of a US dollar.
func money(micros int64) string { return fmt.Sprintf("$%.6f", float64(micros)/1e6) }

// cut shortens a text of a list. Whoever decides is shown it whole.
func cut(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// copyTo writes text of a model or a service to a terminal or a pipe. A terminal gets no control character, because it
// could change the text on the screen.
func (con *console) copyTo(w io.Writer, text string, terminal bool) error {
	if terminal {
		text = visible.Lines(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// tellNext says how the next page is read, when there is one.
func (con *console) tellNext(cursor string) {
	if cursor != "" {
		con.report("cli.next_page", "cursor", cursor)
	}
}
