package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"piloto/internal/boot/signed"
	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/call"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

var place = files.Place{Account: "acc", Project: "prj"}

// workspaceOf records what it is asked, and answers with a result and an error.
type workspaceOf struct {
	asked []any
	err   error
	diff  string
}

var done = []overlay.Done{{Name: "ñ", Version: "v"}, {Name: "gone"}}

var gone = []files.Gone{{Place: place, Name: "ñ", Version: "v", Size: 3, At: time.Unix(1, 0).UTC(), Deleted: true}}

var set = files.Set{ID: "s2", Changes: []overlay.Change{{Name: "a<b>.txt", Before: "1", After: "2", Added: 3}}}

func (w *workspaceOf) Use(_ context.Context, p files.Place, set string, calls []files.Call, o files.Options) (files.Used, error) {
	w.asked = append(w.asked, "use", p, set, calls, o)
	return files.Used{Results: []files.Result{{OK: true, Output: "<1>"}, {Error: "no"}}, Set: files.Set{ID: "s2"}}, w.err
}

func (w *workspaceOf) Tree(_ context.Context, p files.Place, set string) (files.Tree, error) {
	w.asked = append(w.asked, "tree", p, set)
	return files.Tree{Names: "a\n  b & c", Guide: "<c>"}, w.err
}

func (w *workspaceOf) Show(_ context.Context, p files.Place, id string) (files.Shown, error) {
	w.asked = append(w.asked, "show", p, id)
	return files.Shown{Set: set, Diff: w.diff}, w.err
}

func (w *workspaceOf) Without(_ context.Context, p files.Place, id string, names []string) (files.Set, error) {
	w.asked = append(w.asked, "without", p, id, names)
	return set, w.err
}

func (w *workspaceOf) Rebase(_ context.Context, p files.Place, id string) (files.Set, []string, error) {
	w.asked = append(w.asked, "rebase", p, id)
	return set, []string{"ñ"}, w.err
}

func (w *workspaceOf) Apply(_ context.Context, p files.Place, set string) (files.Applied, error) {
	w.asked = append(w.asked, "apply", p, set)
	return files.Applied{Done: done, Gone: gone}, w.err
}

func (w *workspaceOf) Undo(_ context.Context, p files.Place, set string, d []overlay.Done) (files.Applied, error) {
	w.asked = append(w.asked, "undo", p, set, d)
	return files.Applied{}, w.err
}

func (w *workspaceOf) Clear(_ context.Context, p files.Place) error {
	w.asked = append(w.asked, "clear", p)
	return w.err
}

// api is a Lambda API whose function serves a workspace. before, if it is set, may answer a request itself.
type api struct {
	*testing.T
	workspace files.All
	before    func(http.ResponseWriter, *http.Request) bool
	calls     atomic.Int32
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.calls.Add(1)
	if r.Method != http.MethodPost || r.URL.Path != "/2015-03-31/functions/stack-Files/invocations" ||
		!strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/lambda/aws4_request") {
		a.Errorf("%s %s, signed %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
	}
	if a.before != nil && a.before(w, r) {
		return
	}
	event, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	out, err := call.Serve(r.Context(), a.workspace, event)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		out, _ = json.Marshal(map[string]string{"errorType": "Task.Failed", "errorMessage": err.Error()})
	}
	_, _ = w.Write(out)
}

func open(t *testing.T, w files.All) (*call.Client, *api) {
	t.Helper()
	a := &api{T: t, workspace: w}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	config := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}
	return call.New(signed.New(config, "lambda", server.URL+"/", time.Now), "stack-Files"), a
}

func TestEveryOperationArrivesAndIsAnswered(t *testing.T) {
	w := &workspaceOf{diff: "-<&>\n+ñ\n"}
	c, _ := open(t, w)
	ctx := t.Context()
	calls := []files.Call{{Name: "read_file", Arguments: json.RawMessage(`{"path": "ñ", `)}, {Name: "grep", Arguments: json.RawMessage(`{"text":"<>"}`)}}
	want, _ := w.Use(ctx, place, "s1", calls, files.Options{Write: true, AllowDelete: true})
	got, err := c.Use(ctx, place, "s1", calls, files.Options{Write: true, AllowDelete: true})
	same(t, want, got, err)
	tree, _ := w.Tree(ctx, files.Place{Account: "acc", Chat: "chat"}, "")
	gotTree, err := c.Tree(ctx, files.Place{Account: "acc", Chat: "chat"}, "")
	same(t, tree, gotTree, err)
	shown, _ := w.Show(ctx, place, "s")
	gotShown, err := c.Show(ctx, place, "s")
	same(t, shown, gotShown, err)
	rest, _ := w.Without(ctx, place, "s", []string{"a", "ñ"})
	gotRest, err := c.Without(ctx, place, "s", []string{"a", "ñ"})
	same(t, rest, gotRest, err)
	rebased, moved, _ := w.Rebase(ctx, place, "s")
	gotRebased, gotMoved, err := c.Rebase(ctx, place, "s")
	same(t, rebased, gotRebased, err)
	same(t, moved, gotMoved, err)
	applied, _ := w.Apply(ctx, place, "s")
	gotApplied, err := c.Apply(ctx, place, "s")
	same(t, applied, gotApplied, err)
	undone, _ := w.Undo(ctx, place, "s", done)
	gotUndone, err := c.Undo(ctx, place, "s", done)
	same(t, undone, gotUndone, err)
	same(t, w.Clear(ctx, place), c.Clear(ctx, place), nil)
	// Each call was made twice: here, and by the function.
	for i := 0; i < len(w.asked); {
		n := map[any]int{"use": 5, "tree": 3, "show": 3, "without": 4, "rebase": 3, "apply": 3, "undo": 4, "clear": 2}[w.asked[i]]
		if diff := cmp.Diff(w.asked[i:i+n], w.asked[i+n:i+2*n], asSent); diff != "" {
			t.Errorf("%v: %s", w.asked[i], diff)
		}
		i += 2 * n
	}
}

// asSent compares what travels: who made a change is known where it is made, and is not sent.
var asSent = cmpopts.IgnoreUnexported(overlay.Done{})

func same(t *testing.T, want, got any, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got, asSent); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestAFaultIsTheSameOnBothSides(t *testing.T) {
	why := fault.Reason("workspace.name.case").With("other", "A")
	for _, want := range []*fault.Error{
		workspace.ErrMoved.With("name", "ñ, b").Because(errors.New("etag")), workspace.ErrName.With("name", "a").WithFault("why", why), files.ErrSet, fault.ErrStorage,
	} {
		c, a := open(t, &workspaceOf{err: want})
		applied, err := c.Apply(t.Context(), place, "s")
		got := fault.Of(err)
		if !errors.Is(err, want) || got.Kind != want.Kind || cmp.Diff(want.Args, got.Args) != "" || got.Error() != want.Error() {
			t.Errorf("%#v, want %#v", got, want)
		}
		if inner := got.Inner["why"]; want.Inner != nil && (inner == nil || inner.Code != why.Code || inner.Args["other"] != "A") {
			t.Errorf("%#v", inner)
		}
		if cmp.Diff(files.Applied{Done: done, Gone: gone}, applied, asSent) != "" || a.calls.Load() != 1 {
			t.Errorf("%v done, %d calls", applied, a.calls.Load())
		}
	}
}

// TestACallThatLambdaDidNotTakeIsRepeated, and one whose connection was lost.
func TestACallThatLambdaDidNotTakeIsRepeated(t *testing.T) {
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	for name, fail := range map[string]func(http.ResponseWriter){
		"throttled":   status(http.StatusTooManyRequests),
		"failed":      status(http.StatusInternalServerError),
		"unavailable": status(http.StatusServiceUnavailable),
		"lost":        func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"cut": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"result`)
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, a := open(t, &workspaceOf{})
			failing := int32(2)
			a.before = func(w http.ResponseWriter, _ *http.Request) bool {
				if a.calls.Load() > failing {
					return false
				}
				fail(w)
				return true
			}
			if tree, err := c.Tree(t.Context(), place, ""); err != nil || tree.Names == "" || a.calls.Load() != 3 {
				t.Errorf("%q, %v after %d calls", tree, err, a.calls.Load())
			}
			failing = 1000
			a.calls.Store(0)
			if _, err := c.Tree(t.Context(), place, ""); !errors.Is(err, workspace.ErrUnreachable) || a.calls.Load() != 5 {
				t.Errorf("%v after %d calls", err, a.calls.Load())
			}
		})
	}
}

func TestWhatARepetitionDoesNotChangeIsToldAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		status         int
		failed, answer string
		want           error // nil: the deployment is wrong
		text           string
	}{
		"denied":    {403, "", `{"Message":"not authorized"}`, nil, "403 AccessDeniedException:http://x: not authorized"},
		"missing":   {404, "", `{"Message":"Function not found"}`, nil, "Function not found"},
		"large":     {413, "", `{"message":"too large"}`, nil, "too large"},
		"timed out": {200, "Unhandled", `{"errorType":"Sandbox.Timedout","errorMessage":"RequestId: 1 Error: Task timed out after 3.00 seconds"}`, workspace.ErrUnreachable, "timed out"},
		"old form":  {200, "Unhandled", `{"errorMessage":"2026 1 Task timed out after 3.00 seconds"}`, workspace.ErrUnreachable, "timed out"},
		"panicked":  {200, "Unhandled", `{"errorType":"Runtime.ExitError","errorMessage":"exit status 2"}`, nil, "Runtime.ExitError: exit status 2"},
		"no JSON":   {200, "", `<html>`, nil, "read the answer"},
		"no result": {200, "", `{"result":7}`, nil, "read the result"},
	} {
		t.Run(name, func(t *testing.T) {
			client, a := open(t, &workspaceOf{})
			a.before = func(w http.ResponseWriter, _ *http.Request) bool {
				if c.failed != "" {
					w.Header().Set("X-Amz-Function-Error", c.failed)
				}
				if c.status == http.StatusForbidden {
					w.Header().Set("X-Amzn-Errortype", "AccessDeniedException:http://x")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
				return true
			}
			_, err := client.Tree(t.Context(), place, "")
			switch {
			case err == nil, !strings.Contains(err.Error(), c.text), a.calls.Load() != 1:
				t.Errorf("%v after %d calls", err, a.calls.Load())
			case c.want == nil && fault.KindOf(err) != fault.Internal, c.want != nil && !errors.Is(err, c.want):
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// TestWhatLambdaDoesNotCarryIsAFault, in both directions, and arrives there.
func TestWhatLambdaDoesNotCarryIsAFault(t *testing.T) {
	c, a := open(t, &workspaceOf{diff: strings.Repeat("+\n", 3<<20)})
	if _, err := c.Show(t.Context(), place, "s"); fault.KindOf(err) != fault.TooLarge {
		t.Error(err)
	}
	arguments, _ := json.Marshal(map[string]string{"content": strings.Repeat("x", 6<<20)})
	before := a.calls.Load()
	if _, err := c.Use(t.Context(), place, "", []files.Call{{Name: "write_file", Arguments: arguments}}, files.Options{Write: true}); fault.KindOf(err) != fault.TooLarge || a.calls.Load() != before {
		t.Error(err, a.calls.Load())
	}
	a.before = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(make([]byte, 6<<20+1))
		return true
	}
	if _, err := c.Tree(t.Context(), place, ""); fault.KindOf(err) != fault.TooLarge {
		t.Error(err)
	}
}

func TestTheCallerMayGiveUp(t *testing.T) {
	c, a := open(t, &workspaceOf{})
	ctx, cancel := context.WithCancel(t.Context())
	a.before = func(http.ResponseWriter, *http.Request) bool {
		cancel()
		panic(http.ErrAbortHandler)
	}
	if _, err := c.Tree(ctx, place, ""); !errors.Is(err, workspace.ErrUnreachable) || a.calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, a.calls.Load())
	}
}

func TestServeRefusesOtherEvents(t *testing.T) {
	for _, event := range []string{"", "[]", "{}", `{"op":"format"}`, `{"op":7}`} {
		if out, err := call.Serve(t.Context(), &workspaceOf{}, []byte(event)); err == nil {
			t.Errorf("%s: %s", event, out)
		}
	}
	if out, err := call.Serve(t.Context(), &workspaceOf{err: errors.New("a bug")}, []byte(`{"op":"tree"}`)); err == nil || out != nil {
		t.Errorf("%s, %v", out, err)
	}
}
