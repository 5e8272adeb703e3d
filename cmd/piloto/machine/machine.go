// Package machine answers the calls that a job leaves to its client: the files of a folder on the machine of the person
// (package filetool over package folder), commands (package sandbox), and hooks after an edit. It owns when the person is
// asked.
//
// A call never fails towards the model: an error is its answer.
package machine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/filetool"
	"piloto/internal/workspace/folder"
	"piloto/internal/workspace/mask"
	"piloto/internal/workspace/overlay"
)

// Options name the folder, and set which calls ask.
type Options struct {
	Root    string // the workspace
	History string // folder in which the replaced contents of all workspaces are kept
	Shown   []string
	Mode    agent.Mode // which calls ask

	AllowDelete bool
	Commands    bool // commands may be run
	AllowedOnly bool
	Dev         []string // such as "go test"
	Unconfined  bool     // run commands without a sandbox
	Env         map[string]string
	ReadOnly    []string // paths beside the workspace that commands may read
	Write       []string // and write
	Hooks       []sandbox.Hook

	// Ask shows a text to the user and prompts with a question; nil: non-interactive.
	Ask func(shown, question string) (bool, error)
	// Tell tells the person about changes of their files that were not requested; it may be nil.
	Tell func(text string)
	// During is called before a command, or a change that nobody is asked about. Its result is called when the control
	// files of git that were left are moved away; nil: nothing is called.
	During func() (after func())
	// Wanted reports whether the job still wants the answer to its calls; nil: always. A job may be stopped elsewhere
	// while the person reads.
	Wanted func(ctx context.Context) bool
	Tag    locale.Tag
	Now    func() time.Time
	Log    io.Writer // of panics of tools
}

// most is how many files of a workspace are listed. A project of a person has more than one in a bucket.
const most = 100_000

// Machine is an open workspace.
type Machine struct {
	Options
	files    *folder.Folder
	shown    workspace.Shown
	direct   *filetool.Files    // on the files themselves, not on an overlay
	withheld refusal            // why the model may not read a file that the call under way asks for
	seen     map[string]bool    // files that the person let the model read with their secrets
	edited   map[string]*edited // the files that its tools changed
	room     int                // bytes that recheck may still add in this round
	own      string             // the folder of its history
	known    sandbox.Known      // secrets of its files
	copied   *mask.Known        // the same, as they are at the call under way
}

// Open opens a workspace. The error names the invalid option or folder.
func Open(o Options) (*Machine, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, err
	}
	named := cmp.Or(o.Root, ".")
	if info, err := os.Stat(named); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: named, Err: syscall.ENOTDIR}
	}
	if real, err := filepath.EvalSymlinks(root); err == nil { // one folder has one history, by any link
		root = real
	}
	o.Root = root
	m := &Machine{Options: o, seen: map[string]bool{}, edited: map[string]*edited{}}
	if m.shown, err = workspace.Show(o.Shown...); err != nil {
		return nil, err
	}
	for _, h := range o.Hooks {
		if err := h.Check(); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256([]byte(root))
	m.own = filepath.Join(o.History, hex.EncodeToString(sum[:12]))
	m.files, err = folder.Open(folder.Config{
		Root: root, History: m.own, Shown: m.shown, Limits: limits(), Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	options := m.tools()
	if o.Mode != agent.Yolo {
		options.AskSecrets = m.askSecrets
	}
	m.direct = filetool.New(m.files, options)
	return m, nil
}

func limits() workspace.Limits { return workspace.Limits{Files: most, Bytes: 2 << 30} }

func (m *Machine) tools() filetool.Options {
	return filetool.Options{
		AllowDelete: m.AllowDelete, Shown: m.shown, Seen: func(name string) bool { return m.seen[name] },
		Known: func() *mask.Known { return m.copied }, Log: slog.New(slog.NewTextHandler(m.Log, nil)),
	}
}

// Claim makes this the only job that works on the folder, until Close. It moves away control files of git that a command
// left when the program that ran it was killed, and tells the person. An unreadable record of them is sandbox.ErrRecord.
func (m *Machine) Claim() error {
	if err := m.files.Claim(); err != nil {
		return err
	}
	guard, err := sandbox.Kept(m.underWay())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		m.clear(guard)
	}
	return nil
}

// Files returns the files of the folder.
func (m *Machine) Files() workspace.Store { return m.files }

// Overlay returns an empty set of changes over the files.
func (m *Machine) Overlay() (*overlay.Overlay, error) {
	return overlay.New(m.files, overlay.Set{}, overlay.Options{Now: m.Now, Check: m.shown.Check, Limits: limits()})
}

// Close ends the use of the folder.
func (m *Machine) Close() error { return m.files.Close() }

// Answer yields the answers to the calls of a round, which are made one after the other, in their order. A call is made when
// its answer is asked for.
func (m *Machine) Answer(ctx context.Context, calls []job.OpenCall) iter.Seq[job.ToolResult] {
	return func(yield func(job.ToolResult) bool) {
		left := mostAnswered
		m.room = mostAgain
		for _, c := range calls {
			r := m.answer(ctx, c)
			text := sendable(r.text())
			if len(text) > left {
				text = "its result has no room beside those of the other calls: make fewer calls in one reply"
			}
			left -= len(text)
			if !yield(job.ToolResult{ID: c.ID, Output: text, Did: m.deedsOf(c, r)}) {
				return
			}
		}
	}
}

// sendable returns a text as a job takes it: UTF-8 without NUL, and of about 8,000 bytes at most.
func sendable(text string) string {
	return cut(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\u2400"))
}

// mostAnswered is the most that the answers of a round have together, in bytes; a job takes a little more.
const mostAnswered = 60 << 10

// result is the answer to a call: an output or an error. did has its deeds; nil: as the call says, and none for an error.
type result struct {
	output, wrong string
	masked        int // secrets
	did           []job.Deed
}

func (r result) text() string {
	if r.wrong == "" {
		return r.output
	}
	raw, err := json.Marshal(map[string]string{"error": r.wrong})
	if err != nil {
		return r.wrong
	}
	return string(raw)
}

// answer answers one call. After ctx ended none is made.
func (m *Machine) answer(ctx context.Context, c job.OpenCall) result {
	if ctx.Err() != nil {
		return m.notBegun(c)
	}
	if c.Name == runCommand.Name && m.Commands {
		return m.run(ctx, c.Arguments)
	}
	m.copied = m.known.In(m.Root, m.shown)
	for _, t := range m.direct.Tools() {
		switch {
		case t.Name != c.Name:
		case t.Class == filespec.Write:
			return m.write(ctx, c)
		default:
			if no := m.consent(m.Mode == agent.ConfirmAll, c.Name+" "+c.Arguments, "cli.machine.ask_read"); no != "" {
				return result{wrong: no.text(), did: []job.Deed{{Kind: job.DeedRead, Name: objectOf(c), Refused: job.Refused(no)}}}
			}
			m.withheld = ""
			got := t.Do(ctx, json.RawMessage(c.Arguments))
			r := result{output: got.Output, wrong: got.Error, masked: got.Masked, did: m.unread(c, got)}
			if m.withheld != "" && r.wrong != "" {
				r.did = []job.Deed{{Kind: job.DeedRead, Name: objectOf(c), Refused: job.Refused(m.withheld)}}
			}
			if r.masked > 0 { // a command may write the text that the model read
				for _, name := range job.Targets(c.Arguments) {
					m.known.Learn(m.Root, m.shown, name)
				}
			}
			return r
		}
	}
	return result{wrong: fmt.Sprintf("there is no tool %q on this machine", c.Name), did: []job.Deed{{Kind: job.DeedChange, Name: c.Object(), Refused: job.RefusedTool}}}
}

// consent asks the person, if they have to be asked. It returns why the call is not made; "" when it is.
func (m *Machine) consent(asks bool, shown, question string) refusal {
	switch {
	case !asks:
		return ""
	case m.Ask == nil:
		return refusal(job.RefusedNobody)
	}
	yes, err := m.Ask(shown, locale.Text(m.Tag, question))
	switch {
	case err != nil:
		return refusal(job.RefusedUnanswered)
	case !yes:
		return refusal(job.RefusedPerson)
	}
	return ""
}

// askSecrets asks the person whether the model may read a file with its secrets. It returns why not; "" if it may.
func (m *Machine) askSecrets(_ context.Context, name string, secrets int) string {
	what := "cli.machine.secrets"
	if secrets == 0 {
		what = "cli.machine.secrets_usual"
	}
	no := m.consent(true, locale.Text(m.Tag, what, "file", visible.Line(name), "n", strconv.Itoa(secrets)), "cli.machine.ask_secrets")
	if no == "" {
		m.seen[name] = true
		return ""
	}
	m.withheld = no
	return no.text()
}

// stillWanted returns why a call is not made any more; "" when it is.
func (m *Machine) stillWanted(ctx context.Context) refusal {
	if m.Wanted != nil && !m.Wanted(ctx) {
		return refusal(job.RefusedStopped)
	}
	return ""
}

// write makes the changes of a call, each after the person saw its difference, and runs the hooks for the changed files.
func (m *Machine) write(ctx context.Context, c job.OpenCall) result {
	pending, err := m.Overlay()
	if err != nil {
		return result{wrong: m.sentence(err)}
	}
	var made filetool.Result
	for _, t := range filetool.New(pending, m.tools()).Tools() {
		if t.Name == c.Name {
			made = t.Do(ctx, json.RawMessage(c.Arguments))
		}
	}
	if !made.OK {
		return result{wrong: made.Error, did: m.unmade(c, made)}
	}
	set := pending.Changes()
	if len(set.Changes) == 0 && m.Mode != agent.Yolo && m.Ask == nil { // an answer would confirm the model's guess of a file
		no := refusal(job.RefusedNobody)
		name := path.Clean(objectOf(c))
		return result{wrong: name + ": " + no.text(), did: []job.Deed{{Kind: job.DeedChange, Name: name, Refused: job.Refused(no)}}}
	}
	var written, edited, refused []string
	did := []job.Deed{}
	changes := func(sandbox.Command) error {
		for _, change := range set.Changes {
			d, why := m.change(ctx, set.Only(change.Name), change)
			did = append(did, d)
			if why != "" {
				refused = append(refused, change.Name+": "+why)
				continue
			}
			written = append(written, change.Name)
			if change.After != "" {
				edited = append(edited, change.Name)
			}
		}
		return nil
	}
	if m.Mode != agent.Yolo { // the person sees each change, and may work with git meanwhile
		_ = changes(sandbox.Command{})
	} else if moved, err := m.guarded(changes); err != nil {
		return result{wrong: m.sentence(err)}
	} else if len(moved) > 0 {
		made.Output = strings.Join(append([]string{made.Output}, moved...), "\n")
		for i, change := range set.Changes {
			if d := &did[i]; d.Refused == "" && !d.Failed && !m.has(ctx, change) {
				*d = job.Deed{Kind: job.DeedChange, Name: d.Name, Made: d.Made, Deleted: d.Deleted, Refused: job.RefusedGit}
				m.edited[change.Name].last = ""
				refused = append(refused, change.Name+": it was taken back, because git would run it. "+strings.Join(moved, " "))
				isIt := func(name string) bool { return name == change.Name }
				written, edited = slices.DeleteFunc(written, isIt), slices.DeleteFunc(edited, isIt)
			}
		}
	}
	for _, name := range edited {
		if outcome := m.afterEdit(ctx, name); outcome != "" {
			made.Output += "\n" + outcome
		}
	}
	did = m.recheck(ctx, did)
	if len(refused) == 0 {
		return result{output: made.Output, did: did}
	}
	wrong := strings.Join(refused, "\n")
	if len(written) > 0 {
		wrong += "\nThe other files of this call were changed: " + strings.Join(written, ", ")
	}
	return result{wrong: wrong, did: did}
}

// has reports whether a file is as a change left it.
func (m *Machine) has(ctx context.Context, c overlay.Change) bool {
	is, err := m.files.Stat(ctx, c.Name)
	if c.After == "" {
		return errors.Is(err, workspace.ErrNotFound)
	}
	return err == nil && is.Version == c.After
}

// change makes one change, after the person saw it. It returns its deed, and the reason against it; "" when it was made.
func (m *Machine) change(ctx context.Context, one overlay.Set, c overlay.Change) (did job.Deed, why string) {
	did = job.Deed{Kind: job.DeedChange, Name: c.Name, Made: c.Before == "", Deleted: c.After == ""}
	asks := m.Mode != agent.Yolo
	shown, err := m.shownChange(ctx, one, c)
	no := refusal("")
	switch {
	case err != nil:
	case asks && shown == "":
		no = refusal(job.RefusedUnshown)
	default:
		no = cmp.Or(m.consent(asks, shown, "cli.machine.ask_write"), m.stillWanted(ctx))
	}
	if no != "" {
		did.Refused = job.Refused(no)
		return did, no.text()
	}
	if err == nil {
		_, err = overlay.Apply(ctx, m.files, one)
	}
	if err != nil {
		did.Failed = true
		return did, m.sentence(err)
	}
	return m.made(ctx, c), ""
}

// mostShown is the largest content that a person is shown whole, in bytes.
const mostShown = 64 << 10

// shownChange returns a change as a person sees it: its difference. It is "" when that cannot be shown.
func (m *Machine) shownChange(ctx context.Context, one overlay.Set, c overlay.Change) (string, error) {
	if len(one.Unseen()) > 0 {
		return "", nil
	}
	diff, err := overlay.Diff(ctx, m.files, one)
	if c.Binary && len(diff) > mostShown {
		return "", err
	}
	return c.Phrase().In(m.Tag) + "\n" + diff, err
}

// sentence returns an error for the model, in English.
func (m *Machine) sentence(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return locale.OfFault(f).In(locale.English)
	}
	return err.Error()
}
