package filetool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/ground/fault"
	"piloto/internal/models/llm"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/filetool"
)

// ctx shortens the methods of stores.
type ctx = context.Context

// args are the arguments of a call.
type args map[string]any

// call calls a tool. arguments is a JSON text or args.
func call(t testing.TB, f *filetool.Files, name string, arguments any) filetool.Result {
	t.Helper()
	raw, ok := arguments.(string)
	if !ok {
		text, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(text)
	}
	for _, tool := range f.Tools() {
		if tool.Name != name {
			continue
		}
		r := tool.Do(t.Context(), json.RawMessage(raw))
		if r.OK == (r.Error != "") || !r.OK && r.Output != "" || len(r.Output)+len(r.Error) > filetool.MaxOutput || !utf8.ValidString(r.Output+r.Error) {
			t.Errorf("%s %.200s: it is no answer: %+v", name, raw, r)
		}
		return r
	}
	t.Fatalf("there is no tool %s", name)
	return filetool.Result{}
}

func over(files map[string]string) (*filetool.Files, *memory.Store) {
	s := memory.With(files)
	return filetool.New(s, filetool.Options{AllowDelete: true}), s
}

func read(t testing.TB, s workspace.Store, name string) string {
	t.Helper()
	content, _, err := workspace.ReadAll(t.Context(), s, name, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// expect is one call and what its answer has.
type expect struct {
	what, tool string
	args       any
	ok         bool
	has        []string // parts of the output, or of the error
}

func (e expect) check(t *testing.T, f *filetool.Files) {
	t.Helper()
	r := call(t, f, e.tool, e.args)
	if r.OK != e.ok {
		t.Errorf("%s: %+v", e.what, r)
		return
	}
	for _, part := range e.has {
		if !strings.Contains(r.Output+r.Error, part) {
			t.Errorf("%s: %q is not in %q", e.what, part, r.Output+r.Error)
		}
	}
}

func TestToolsAreDescribed(t *testing.T) {
	f, _ := over(nil)
	var names []string
	for _, tool := range f.Tools() {
		names = append(names, tool.Name)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.Schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("s.json", doc); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("s.json"); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		object := doc.(map[string]any)
		if object["additionalProperties"] != false || tool.Description == "" || tool.Class != filespec.Read && tool.Class != filespec.Write {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
		for name, p := range object["properties"].(map[string]any) {
			if p.(map[string]any)["description"] == "" {
				t.Errorf("%s: %s has no description", tool.Name, name)
			}
		}
	}
	if got := strings.Join(names, " "); got != "list_files find_files read_file grep search_code write_file edit_file apply_patch delete_file" {
		t.Error(got)
	}
	for _, tool := range filetool.New(memory.With(nil), filetool.Options{}).Tools() {
		if tool.Name == "delete_file" {
			t.Error("files can be deleted where nothing allows it")
		}
	}
}

func TestArgumentsAreJudgedAllAtOnce(t *testing.T) {
	f, _ := over(map[string]string{"a": "1\n"})
	for _, e := range []expect{
		{"several", "read_file", `{"from":0,"lines":"3","colour":1}`, false, []string{"path is missing", "from must be at least 1", "lines must be a whole number", `"colour" is no argument`, "path, from, lines"}},
		{"no object", "read_file", `[1]`, false, []string{"JSON object"}},
		{"cut off", "read_file", `{"path":"a"`, false, []string{"ends early"}},
		{"nothing", "list_files", ``, true, []string{"a (2 bytes)"}},
		{"null is absent", "read_file", `{"path":"a","from":null}`, true, []string{"     1\t1"}},
		{"null that must be there", "read_file", `{"path":null}`, false, []string{"path is missing"}},
		{"twice", "read_file", `{"path":"a","path":"b"}`, false, []string{"path stands twice"}},
		{"a float", "read_file", `{"path":"a","from":1.5}`, false, []string{"whole number"}},
		{"a float that is whole", "read_file", `{"path":"a","from":1.0}`, true, nil},
		{"a huge number", "read_file", `{"path":"a","from":1e300}`, false, []string{"at most"}},
		{"half of a character", "write_file", `{"path":"b","content":"\ud83d"}`, false, []string{"half of a character"}},
		{"a zero byte", "write_file", `{"path":"b","content":"\u0000"}`, false, []string{"zero byte"}},
		{"a mode", "write_file", `{"path":"b","content":"","mode":"insert"}`, false, []string{"overwrite or append"}},
		{"lines in a name", "read_file", `{"path":"a\nb"}`, false, []string{"on one line"}},
		{"a flag", "list_files", `{"recursive":"yes"}`, false, []string{"true or false"}},
		{"an empty text", "edit_file", `{"path":"a","old_str":"","new_str":"x"}`, false, []string{"old_str must not be empty"}},
	} {
		e.check(t, f)
	}
}

// failing is a store with one failure.
type failing struct {
	*memory.Store
	err   error
	panic any
	wait  bool
}

func (s failing) Read(ctx context.Context, name, version string, from, n int64) ([]byte, workspace.File, error) {
	switch {
	case s.panic != nil:
		panic(s.panic)
	case s.wait:
		<-ctx.Done()
		return nil, workspace.File{}, ctx.Err()
	case s.err != nil:
		return nil, workspace.File{}, s.err
	}
	return s.Store.Read(ctx, name, version, from, n)
}

func (s failing) Write(context.Context, string, []byte, string) (workspace.File, error) {
	return workspace.File{}, s.err
}

func TestFailuresAreSentences(t *testing.T) {
	const name = "a.txt"
	files := memory.With(map[string]string{name: "1\n"})
	for _, c := range []struct {
		err error
		has string
	}{
		{workspace.ErrMoved.With("name", name), "Read it again"},
		{workspace.ErrSpecial.With("name", name), "not a plain file"},
		{workspace.CheckSize(name, 99<<20), "over 10 MB"},
		{workspace.CheckName("a\\b"), "backslash"},
		{workspace.Limits{}.Check(9_999, 1), "over the limits"},
		{workspace.ErrDenied.With("name", name), "does not allow"},
		{fault.ErrStorage, "full"},
		{errors.New("secret: the bucket"), "tell the person"},
		{context.Canceled, "cancelled"},
	} {
		f := filetool.New(failing{Store: files, err: c.err}, filetool.Options{})
		for _, r := range []filetool.Result{
			call(t, f, "read_file", args{"path": name}),
			call(t, f, "write_file", args{"path": name, "content": "x"}),
		} {
			if r.OK || !strings.Contains(r.Error, c.has) || strings.Contains(r.Error, "secret") || strings.Contains(r.Error, "{") || strings.Contains(r.Error, "workspace.") {
				t.Errorf("%v: %q", c.err, r.Error)
			}
		}
	}
}

func TestPanicIsAResultAndIsLogged(t *testing.T) {
	var log bytes.Buffer
	f := filetool.New(failing{Store: memory.With(map[string]string{"a": "1"}), panic: "broken"},
		filetool.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if r := call(t, f, "read_file", args{"path": "a"}); r.OK || !strings.Contains(r.Error, "failed") || strings.Contains(r.Error, "broken") {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(log.String(), "broken") || !strings.Contains(log.String(), "read_file") {
		t.Errorf("the log: %s", log.String())
	}
}

func TestCallEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := filetool.New(failing{Store: memory.With(map[string]string{"a": "1"}), wait: true}, filetool.Options{})
		for _, tool := range []string{"read_file", "grep"} {
			if r := call(t, f, tool, map[string]args{"read_file": {"path": "a"}, "grep": {"text": "x"}}[tool]); r.OK || !strings.Contains(r.Error, "too long") {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestOutputIsAboutTwoThousandTokens holds the limit in bytes to the estimate of tokens.
func TestOutputIsAboutTwoThousandTokens(t *testing.T) {
	code := strings.Repeat("func (s *Store) present(name string) (version, error) {\n\tall := s.files[name]\n", 500)
	f, _ := over(map[string]string{"a.go": code})
	r := call(t, f, "read_file", args{"path": "a.go"})
	if n := llm.EstimateText(r.Output); n < 1_500 || n > 3_500 { // the estimate is an upper bound, of code about 1.5 times what there is
		t.Errorf("%d tokens, %d bytes", n, len(r.Output))
	}
}
