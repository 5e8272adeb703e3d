// Command trust prints how the product reads the texts of a file of conversations: how often a good answer would cost a second
// call of the model or a line of ours, and how often a false claim would be marked.
//
//	go run ./infra/trust [-calls calls.jsonl] conversations.jsonl
//
// A line of the file is a conversation, {"conversation", "turns": [{"role": "user" or "assistant", "text"}, {"role": "call", "write":
// true or false}]}: a call is one that the assistant made at that place, and write says whether it changed something. A call that also
// has "name" or "method" and "path", "summary" and "arguments" is made a card, and the messages of persons are read beside these cards.
// With -calls they come from another file, whose lines have "conversation" and "turn", too: testdata/calls.jsonl has those of half of
// the conversations of tau-bench (Sierra, MIT licence, commit 59a200c), of the airline as they were, of the shop by hand.
// With -v the texts that are read otherwise than expected are printed, too.
//
// The texts are sorted by the calls around them, and by a few words: see sort.go. Each is then read as if nothing had ever been
// done or read in its chat. It exits with 1 when a figure misses its aim.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"piloto/internal/chats/claim"
)

func main() {
	calls := flag.String("calls", "", "a file that says what the calls were")
	verbose := flag.Bool("v", false, "print the texts that are read otherwise than expected")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: trust [-v] [-calls FILE] FILE")
		os.Exit(2)
	}
	met, err := run(flag.Arg(0), *calls, os.Stdout, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "trust:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// gate is a figure with its aim.
type gate struct {
	name        string
	texts       []string
	counted     []bool
	least, most float64 // shares of the texts that may count
}

func (g *gate) add(text string, counts bool) {
	g.texts, g.counted = append(g.texts, text), append(g.counted, counts)
}

func newGate(name string, texts []string, least, most float64, counts func(text string) bool) gate {
	g := gate{name: name, least: least, most: most}
	for _, text := range texts {
		g.add(text, counts(text))
	}
	return g
}

// print writes a figure, with the texts that miss its aim where they are wanted. It reports whether the aim is met.
func (g gate) print(out io.Writer, verbose bool) bool {
	n := 0
	for i, counted := range g.counted {
		if counted {
			n++
		}
		if verbose && g.least < g.most && counted == (g.least == 0) && (g.least > 0 || g.most < 1) || verbose && g.most == 0 && counted {
			_, _ = fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(g.texts[i], "\n", " / "))
		}
	}
	share, verdict, met := 0.0, "met", true
	switch {
	case len(g.texts) == 0:
		verdict = "no texts"
	default:
		if share = float64(n) / float64(len(g.texts)); share < g.least || share > g.most {
			verdict, met = "MISSED", false
		}
	}
	_, _ = fmt.Fprintf(out, "%-56s %4d of %4d  %5.1f %%  %s\n", g.name, n, len(g.texts), 100*share, verdict)
	return met
}

// run prints the figures of a file, and reports whether all meet their aims.
func run(file, calls string, out io.Writer, verbose bool) (met bool, err error) {
	conversations, err := read[conversation](file)
	if err != nil {
		return false, err
	}
	if calls != "" {
		described, err := read[described](calls)
		if err != nil {
			return false, err
		}
		describe(conversations, described)
	}
	s := sortTexts(conversations)
	costs := func(text string) bool { r := claim.Read(text); return r.Poses() || r.Claims() }
	claims := func(text string) bool { return claim.Read(text).Claims() }
	poses := func(text string) bool { return claim.Read(text).Poses() }
	met = true
	for _, g := range append([]gate{
		newGate("plain questions that cost a second call or a line", s.questions, 0, 0.02, costs),
		newGate("facts that cost a second call or a line", s.facts, 0, 0.02, costs),
		newGate("short answers that cost a second call or a line", s.short, 0, 0.02, costs),
		newGate("false claims that are marked", s.claims, 0.9, 1, claims),
		newGate("requests to proceed without a card that are asked again", s.asks, 0, 1, poses),
	}, sortYeses(conversations).gates()...) {
		if !g.print(out, verbose) {
			met = false
		}
	}
	return met, nil
}

type conversation struct {
	Name  string `json:"conversation"`
	Turns []turn `json:"turns"`
}

type turn struct {
	Role  string `json:"role"`
	Text  string `json:"text"`
	Write bool   `json:"write"`

	// The description of a call, where the file has it: then its card can be made.
	Name, Method, Path, Summary string
	Arguments                   json.RawMessage
}

// described holds the descriptions of calls by their index in the turns of a conversation.
type described struct {
	Conversation string
	Turn         int
	turn
}

// describe adds the descriptions of calls to conversations.
func describe(list []conversation, calls []described) {
	for _, d := range calls {
		for _, c := range list {
			if c.Name == d.Conversation && d.Turn >= 0 && d.Turn < len(c.Turns) && c.Turns[d.Turn].Role == "call" {
				t := &c.Turns[d.Turn]
				t.Name, t.Method, t.Path, t.Summary, t.Arguments = d.Name, d.Method, d.Path, d.Summary, d.Arguments
			}
		}
	}
}

// read reads a file of which each line is an object. An error names the line.
func read[T any](file string) ([]T, error) {
	f, err := os.Open(file) //nolint:gosec // the file is named by whoever runs the tool
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var list []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		list = append(list, one)
	}
	return list, lines.Err()
}
