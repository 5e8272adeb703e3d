package cli

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
)

// page is the flags of a list that has pages.
type page struct {
	limit  int
	cursor string
}

func (p *page) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 50, "how many at most, 1 to 200")
	cmd.Flags().StringVar(&p.cursor, "cursor", "", "where the page before ended")
}

// query returns the query of the page.
func (p *page) query() url.Values {
	q := url.Values{"limit": {fmt.Sprint(p.limit)}}
	if p.cursor != "" {
		q.Set("cursor", p.cursor)
	}
	return q
}

// tellNext says how the next page is read, when there is one.
func (con *console) tellNext(cursor string) {
	if cursor != "" {
		con.report("cli.next_page", "cursor", cursor)
	}
}
