// Package filetool has the tools with which a model reads and changes the files of a workspace.
//
// A tool never fails with a Go error. Each failure, such as a wrong argument, a missing file or a file that another one
// changed, is a Result with a sentence on how to go on, because the model reads it. An output has at most MaxOutput bytes,
// and names the parts that it leaves out.
package filetool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/mask"
)

// MaxOutput is the maximum size of a result in bytes: about 2,000 tokens.
const MaxOutput = 6_000

// maxTime is how long a call may take.
const maxTime = 10 * time.Second

// Result is the answer to a call: Output if it is OK, else Error, a sentence for the model.
type Result struct {
	OK     bool   `json:"ok"`
	Output string `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`

	Masked int `json:"-"` // secrets that have a mask in Output, or in the files that it shows

	Why string `json:"-"` // the code of the reason why a name was refused, such as workspace.name.hidden; WhyMasked, WhyShows; "": for any other error
}

// A Tool is described to a model by name, description and the JSON Schema of its arguments. Do answers a call, whose
// arguments are a JSON object. It may be called from several goroutines at once.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
	Class       filespec.Class // Write changes files of the store, which may be an overlay
	Do          func(ctx context.Context, args json.RawMessage) Result
}

// Options are the permissions of the tools.
type Options struct {
	AllowDelete bool            // files may be deleted
	Shown       workspace.Shown // files that are shown as they are, also if they have secrets

	// AskSecrets asks the person whether the model may read a file with its secrets, and returns why not; "" if it may.
	// secrets is how many are known. nil: nobody is asked, and masks stand for the secrets.
	AskSecrets func(ctx context.Context, name string, secrets int) (refused string)

	// Seen reports whether the person let the model read a file with its secrets, so that it may change them; nil: no file.
	Seen func(name string) bool

	// Known returns the secrets of the workspace, which are masked in every file; nil: none is known. It is called for each
	// file, also at the same time.
	Known func() *mask.Known

	Log *slog.Logger // nil: the default one. It gets the panic of a tool
}

// Files has the tools of one workspace. It caches the names that the .gitignore files of the last listing leave out.
type Files struct {
	store   workspace.Store
	options Options
	seen    seen
}

// New returns the tools of a workspace.
func New(store workspace.Store, o Options) *Files {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Files{store: store, options: o}
}

// Tools returns the tools, in the order in which a model is offered them.
func (f *Files) Tools() []Tool {
	list := []Tool{
		f.tool(filespec.ListFiles, whole(f.list)),
		f.tool(filespec.FindFiles, whole(f.find)),
		f.tool(filespec.ReadFile, f.read),
		f.tool(filespec.Grep, f.grep),
		f.tool(filespec.SearchCode, f.search),
		f.tool(filespec.WriteFile, whole(f.write)),
		f.tool(filespec.EditFile, whole(f.edit)),
		f.tool(filespec.ApplyPatch, whole(f.patch)),
	}
	if f.options.AllowDelete {
		list = append(list, f.tool(filespec.DeleteFile, whole(f.remove)))
	}
	return list
}

// toolError is a sentence for the model.
type toolError string

func (e toolError) Error() string { return string(e) }

func errorf(format string, args ...any) error { return toolError(fmt.Sprintf(format, args...)) }

// answer is the output of a tool, and how many secrets have a mask in the files that it shows.
type answer struct {
	text   string
	masked int
}

// whole makes a function that masks nothing one for tool.
func whole(do func(ctx context.Context, a filespec.Arguments) (string, error)) func(context.Context, filespec.Arguments) (answer, error) {
	return func(ctx context.Context, a filespec.Arguments) (answer, error) {
		text, err := do(ctx, a)
		return answer{text: text}, err
	}
}

// tool makes a tool of a function. The function returns the output, or an error for explain.
func (f *Files) tool(s filespec.Spec, do func(ctx context.Context, a filespec.Arguments) (answer, error)) Tool {
	run := func(ctx context.Context, raw json.RawMessage) (result Result) {
		defer func() {
			if p := recover(); p != nil {
				f.options.Log.ErrorContext(ctx, "a file tool panicked", "tool", s.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				result = Result{Error: "The tool failed, and why is in the log. Do not repeat the call with the same arguments: use another tool, or tell the person."}
			}
		}()
		a, wrong := s.Judge(raw)
		if len(wrong) > 0 {
			return Result{Error: short("Nothing was done. Mend the arguments and call again: " + strings.Join(wrong, "; ") + ".")}
		}
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		output, err := do(ctx, a)
		if err != nil {
			return Result{Error: short(explain(err)), Why: whyName(err)}
		}
		return Result{OK: true, Output: short(strings.ToValidUTF8(output.text, "\uFFFD")), Masked: output.masked}
	}
	return Tool{Name: s.Name, Description: s.About, Schema: s.Schema(), Class: s.Class, Do: run}
}

// WhyMasked is the Why of a write that has the mask of a secret, WhyShows that of a change after which one could be read.
const (
	WhyMasked = "masked"
	WhyShows  = "shows"
)

// whyName returns the code of the reason why a name or a content was refused.
func whyName(err error) string {
	if errors.As(err, new(maskRefused)) {
		return WhyMasked
	}
	if errors.As(err, new(showRefused)) {
		return WhyShows
	}
	if why := fault.Of(err).Inner["why"]; why != nil {
		return why.Code
	}
	return ""
}

// short cuts a text that a tool did not bound itself.
func short(text string) string {
	if len(text) <= MaxOutput {
		return text
	}
	return cut(text, MaxOutput-40)
}

// explain returns a sentence for the model. Causes that it cannot know or change stay in the log of the store.
func explain(err error) string {
	var sentence toolError
	known := fault.Of(err)
	switch {
	case errors.As(err, &sentence):
		return string(sentence)
	case errors.Is(err, context.DeadlineExceeded):
		return "It took too long. Narrow it down: name a folder in path, or read fewer lines."
	case errors.Is(err, context.Canceled):
		return "The call was cancelled."
	case errors.Is(err, workspace.ErrNotFound):
		return fmt.Sprintf("There is no file %q. See what there is with list_files or find_files.", known.Args["name"])
	case strings.HasPrefix(known.Code, "workspace.") || errors.Is(err, fault.ErrStorage):
		todo := locale.OfFault(known)
		todo.Key += ".do"
		return locale.OfFault(known).In(locale.English) + " " + todo.In(locale.English)
	}
	return "The files cannot be used now. Try once more; if it fails again, tell the person."
}
