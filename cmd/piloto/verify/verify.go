// Package verify checks whether a receipt is valid, and who wrote it, without any network access.
//
// The keys are the response of GET /api/keys, and the chain that of GET /api/receipts: each of its pages is one
// --chain, in their order. The command prints the plan, who confirmed it and when, and a line for each step; then
// "valid", or each fault.
//
// Without keys it checks only that the receipt is consistent, says so, and proves nothing: a careful forgery is consistent too.
// Keys prove the origin only to a person who has them from another source than the receipt, or who compared the
// printed id of the key.
//
// A valid chain may be incomplete: its newest links may have been cut off. Keep the printed head; --pin checks
// whether a chain still contains it.
package verify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/runs/receipt"
)

// Outcome is the result of the checks.
type Outcome int

// The outcomes. Unproven means that all agrees, but no key was given, or the signature is missing or by a key that was not given:
// then nothing proves the author.
const (
	Holds Outcome = iota
	DoesNot
	Unproven
)

// String returns the outcome as --json has it.
func (o Outcome) String() string { return [...]string{"valid", "broken", "unproven"}[o] }

// maxRead limits the size of a file, in bytes.
const maxRead = 256 << 20

// request holds the files to verify.
type request struct {
	receipt string // a file, "-" for the standard input, "" for none
	keys    string
	chain   []string
	pin     string
}

// A Fault is a check that failed.
type Fault struct {
	Where string `json:"where"` // "event 7", "signature", "chain"
	What  string `json:"what"`
}

// A Verdict is the outcome of the checks, as --json has it.
type Verdict struct {
	Outcome string  `json:"outcome"` // valid, broken or unproven
	Text    string  `json:"text"`    // as it is printed
	Faults  []Fault `json:"faults"`  // each check that failed
	RunID   string  `json:"run_id,omitempty"`
	KeyID   string  `json:"key_id,omitempty"` // of the signature
	Head    string  `json:"head,omitempty"`   // of the chain, else of the receipt
}

// Command returns the command. It calls ended with the outcome, and with the text to print. Its error means that the
// flags are wrong, or that there is nothing to read.
func Command(in io.Reader, ended func(Outcome, Verdict) error) *cobra.Command {
	var q request
	cmd := &cobra.Command{
		Use: "verify [FILE]", Short: "Check a receipt, and who wrote it, without any network access",
		Long: `Check a receipt ("-" is stdin), and who wrote it, without any network access:

  piloto verify --keys keys.json receipt.json
  piloto verify --keys keys.json --chain chain.json receipt.json
  piloto verify --keys keys.json --chain chain.json --pin HEAD
  piloto runs receipt ID | piloto verify -

It exits with 0 when all checks pass and the signature is proved, with 1 when a check fails, with 2 when nothing proves the signature
(without --keys or with none in it, when it is missing, or when its key is not among them), and with 3 when there is nothing to read.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.receipt = args[0]
			}
			if err := q.check(args, cmd.Flags().Changed("pin")); err != nil {
				return err
			}
			g, err := q.read(in)
			if err != nil {
				return err
			}
			text, outcome, faults := g.verdict(q)
			v := Verdict{Outcome: outcome.String(), Faults: make([]Fault, len(faults))}
			for i, f := range faults {
				v.Faults[i] = Fault(f)
			}
			if n := len(g.links); n > 0 {
				v.Head = g.links[n-1].Head
			}
			if r := g.receipt; r != nil {
				text = runText(*r) + text
				v.RunID, v.Head = r.RunID, cmp.Or(v.Head, r.Head)
				if r.Signature != nil {
					v.KeyID = r.Signature.KeyID
				}
			}
			v.Text = text
			return ended(outcome, v)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.keys, "keys", "", "`file` of the public keys, as GET /api/keys answers")
	f.StringArrayVar(&q.chain, "chain", nil, "`file` of the account's chain, as GET /api/receipts answers; again for each further page")
	f.StringVar(&q.pin, "pin", "", "`head` of the chain that was kept: the chain must still have it")
	return cmd
}

// sentence returns an error with a sentence of the terminal; {why} is its cause.
func sentence(key string) *fault.Error { return fault.New(fault.Invalid, key) }

// wrong returns the error of a file with another content. One that cannot be read is reported as such.
func wrong(key, file string, err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	return sentence(key).With("file", file).Because(err)
}

func (q request) check(args []string, pins bool) error {
	switch {
	case pins && q.pin == "": // from an unset variable
		return sentence("verify.no_pin")
	case len(args) > 1, q.receipt == "" && len(q.chain) == 0:
		return sentence("verify.usage")
	case q.pin != "" && len(q.chain) == 0:
		return sentence("verify.pin_alone")
	}
	return nil
}

// input holds the parsed files.
type input struct {
	receipt *receipt.Receipt
	keys    []receipt.Key
	links   []receipt.Link
	other   []receipt.Problem // members of a text that were not read
}

func (q request) read(in io.Reader) (input, error) {
	var g input
	if q.keys != "" {
		var list struct {
			Keys []receipt.Key `json:"keys"`
		}
		if err := read(q.keys, in, &list); err != nil {
			return g, wrong("verify.no_keys", q.keys, err)
		}
		for _, k := range list.Keys {
			if err := k.Check(); err != nil {
				return g, wrong("verify.no_keys", q.keys, err)
			}
		}
		if g.keys = list.Keys; g.keys == nil { // before its first receipt a deployment answers an empty list
			return g, sentence("verify.empty_keys").With("file", q.keys)
		}
	}
	for _, name := range q.chain {
		var page struct {
			Links []json.RawMessage `json:"links"`
		}
		if err := read(name, in, &page); err != nil {
			return g, wrong("verify.no_chain", name, err)
		}
		for _, raw := range page.Links {
			link, err := receipt.ReadLink(raw)
			switch {
			case errors.Is(err, receipt.ErrOther):
				g.other = append(g.other, receipt.Problem{Where: fmt.Sprintf("link %d", link.Seq), What: err.Error()})
			case err != nil:
				return g, wrong("verify.no_chain", name, err)
			}
			g.links = append(g.links, link)
		}
	}
	if q.receipt == "" {
		return g, nil
	}
	var raw json.RawMessage
	if err := read(q.receipt, in, &raw); err != nil {
		return g, wrong("verify.no_receipt", q.receipt, err)
	}
	told, err := receipt.Read(raw)
	switch {
	case errors.Is(err, receipt.ErrOther):
		g.other = append(g.other, receipt.Problem{Where: "text", What: err.Error()})
	case err != nil:
		return g, wrong("verify.no_receipt", q.receipt, err)
	}
	g.receipt = &told
	if g.receipt.Version == "" {
		return g, sentence("verify.no_version").With("file", q.receipt)
	}
	return g, nil
}

// read reads one JSON value.
func read(name string, in io.Reader, into any) error {
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the person names it
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxRead))
	if err != nil {
		return err
	}
	// Parsers disagree on a duplicate member.
	if err := jcs.Check(raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// verdict returns the results of the checks, the outcome, and the faults.
func (g input) verdict(q request) (string, Outcome, []receipt.Problem) {
	problems := append([]receipt.Problem{}, g.other...)
	var unknown error
	if r := g.receipt; r != nil {
		problems = append(problems, receipt.Verify(*r)...)
		if len(g.keys) > 0 {
			unknown = r.SignedBy(g.keys)
		}
		if errors.Is(unknown, receipt.ErrForged) {
			problems, unknown = append(problems, receipt.Problem{Where: "signature", What: unknown.Error()}), nil
		}
	}
	if len(q.chain) > 0 {
		problems = append(problems, receipt.VerifyChain(g.links, nil)...)
		for _, l := range g.links {
			switch err := g.signerOf(l); {
			case errors.Is(err, receipt.ErrForged):
				problems = append(problems, receipt.Problem{Where: fmt.Sprintf("link %d", l.Seq), What: err.Error()})
			case err != nil:
				unknown = cmp.Or(unknown, fmt.Errorf("link %d: %w", l.Seq, err))
			}
		}
		if g.receipt != nil {
			problems = append(problems, receipt.VerifyPlace(*g.receipt, g.links)...)
		}
		if q.pin != "" {
			if err := receipt.Pinned(g.links, q.pin); err != nil {
				problems = append(problems, receipt.Problem{Where: "chain", What: clip.Line(err.Error())})
			}
		}
	}
	var b strings.Builder
	for _, p := range problems {
		b.WriteString("does not hold: " + clip.Line(p.String()) + "\n")
	}
	switch {
	case len(problems) > 0:
		return b.String(), DoesNot, problems
	case unknown != nil:
		return "not proven: " + clip.Line(unknown.Error()) + "; it agrees with itself, which a forged one does too\n", Unproven, problems
	case len(g.keys) == 0:
		return g.receiptText() + g.chainText(), Unproven, problems
	}
	return g.receiptText() + g.chainText(), Holds, problems
}

// signerOf returns nil if one of the keys signed a link, or if no keys were given.
func (g input) signerOf(l receipt.Link) error {
	if len(g.keys) == 0 {
		return nil
	}
	return l.SignedBy(g.keys)
}

// receiptText returns the text for a valid receipt.
func (g input) receiptText() string {
	if g.receipt == nil {
		return ""
	}
	r := *g.receipt
	said := fmt.Sprintf("%d events, digest %s, head %s", len(r.Events), r.Digest, r.Head)
	if !r.Status.Terminal() {
		said += ", and the run still goes on"
	}
	if len(g.keys) == 0 {
		return clip.Line("not proven, but consistent: "+said+". Only this was checked, not who wrote it: give the public keys with --keys") + "\n"
	}
	said = fmt.Sprintf("valid: %s, signed with key %s (%s)", said, r.Signature.KeyID, r.Signature.Alg)
	if len(g.links) == 0 {
		said += fmt.Sprintf(". That it is link %d of the chain of %s was not checked: give that with --chain", r.Chain.Seq, r.Account)
	}
	return clip.Line(said) + "\n"
}

// chainText returns the text for a valid chain.
func (g input) chainText() string {
	if len(g.links) == 0 {
		return ""
	}
	last := g.links[len(g.links)-1]
	said := fmt.Sprintf("chain of %s: %d links, head %s: keep it, since links after it can be cut off unseen", last.Account, last.Seq, last.Head)
	if len(g.keys) == 0 {
		said = "not proven, but consistent: " + said + ". Who signed them was not checked: give the public keys with --keys"
	}
	return clip.Line(said) + "\n"
}

// runText describes the run for a person.
func runText(r receipt.Receipt) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(clip.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	goal := ""
	if n := len(r.Revisions); n > 0 {
		goal = r.Revisions[n-1].Plan.Goal
	}
	line("run %s: %s (%s)", r.RunID, goal, r.Status)
	for _, v := range r.Revisions {
		line("revision %d by %s%s on %s: %s", v.Revision, someone(v.By), by(v.Model), moment(v.At), v.Digest)
	}
	if c := r.Confirmed; c != nil {
		line("confirmed by %s on %s: %s", someone(c.By), moment(c.At), c.Digest)
	} else {
		line("not confirmed")
	}
	for _, s := range r.Steps {
		line("%s", stepLine(s))
	}
	return b.String()
}

// stepLine describes the outcome of a step.
func stepLine(s receipt.Step) string {
	said := fmt.Sprintf("%s %s: %s, %s", s.ID, s.Title, s.Called, s.Status)
	if s.Sent != nil {
		said += fmt.Sprintf("; sent to %s on %s", s.Sent.URL, moment(s.Sent.At))
		if s.Sent.Attempts > 1 {
			said += fmt.Sprintf(", attempt %d", s.Sent.Attempts)
		}
	}
	if s.Result != nil {
		said += fmt.Sprintf("; answered %d, %d bytes", s.Result.Status, s.Result.Bytes)
	}
	if s.Error != "" {
		said += "; " + s.Error
	}
	if a := s.Approval; a != nil {
		said += fmt.Sprintf("; %s by %s", cmp.Or(string(a.Decision), "to be approved"), someone(a.By))
	}
	if s.Resolved != nil {
		said += fmt.Sprintf("; settled as %s by %s", s.Resolved.Outcome, someone(s.Resolved.By))
	}
	if s.Reused != "" {
		said += "; its result is of run " + s.Reused
	}
	return said
}

func by(model string) string {
	if model == "" {
		return ""
	}
	return " with " + model
}

func someone(name string) string { return cmp.Or(name, "nobody") }

func moment(at time.Time) string { return at.UTC().Format(time.RFC3339) }
