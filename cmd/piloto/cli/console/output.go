package console

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"piloto/cmd/piloto/show"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/visible"
)

// PrintJSON writes a value to stdout. In its strings, invisible characters are escaped.
func (con *Console) PrintJSON(v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if con.IsTerm {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(con.Out, visible.Escaped(b.String()))
	return err
}

// PrintAnswer writes the answer of a request to stdout as JSON, or returns its error.
func (con *Console) PrintAnswer(got any, err error) error {
	if err != nil {
		return err
	}
	return con.PrintJSON(got)
}

// Print writes one line to stdout, every character of which is visible.
func (con *Console) Print(line string) error {
	_, err := fmt.Fprintln(con.Out, visible.Line(line))
	return err
}

// Result prints a value: as JSON, or as one line.
func (con *Console) Result(value any, line string) error {
	if con.JSON {
		return con.PrintJSON(value)
	}
	return con.Print(line)
}

// PrintLines writes lines to stdout.
func (con *Console) PrintLines(lines ...string) error {
	_, err := io.WriteString(con.Out, strings.Join(lines, "\n")+"\n")
	return err
}

// Table writes rows to stdout: the keys of the titles, then the cells. Cells are values of others, so every character
// of them is visible.
func (con *Console) Table(titles []string, rows [][]string) error {
	w := tabwriter.NewWriter(con.Out, 0, 4, 2, ' ', 0)
	head := make([]string, len(titles))
	for i, t := range titles {
		head[i] = strings.ToUpper(con.Text(t))
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

// List prints values: as JSON, or as a table.
func (con *Console) List(all any, titles []string, rows [][]string) error {
	if con.JSON {
		return con.PrintJSON(all)
	}
	if len(rows) == 0 {
		con.Report("cli.nothing")
		return nil
	}
	return con.Table(titles, rows)
}

// Moment returns a time of this machine.
func Moment(at time.Time) string { return show.Moment(at) }

// Money returns millionths of a US dollar.
func Money(micros int64) string { return fmt.Sprintf("$%.6f", float64(micros)/1e6) }

// Cut shortens a text of a list. A person who decides reads it whole.
func Cut(text string, most int) string {
	return clip.Runes(clip.Line(text), most)
}

// CopyTo writes text of a model or a service to a terminal or a pipe. A terminal gets no control character, because it
// could change the text on the screen.
func (con *Console) CopyTo(w io.Writer, text string, terminal bool) error {
	if terminal {
		text = visible.Lines(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// TellNext says how the next page is read, when there is one.
func (con *Console) TellNext(cursor string) {
	if cursor != "" {
		con.Report("cli.next_page", "cursor", cursor)
	}
}
