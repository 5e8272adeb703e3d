package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/machine"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
)

// TestACommandSaysThatItIsThere as soon as its job has begun, and not after it stopped.
func TestACommandSaysThatItIsThere(t *testing.T) {
	said := make(chan string, 10)
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if n.Add(1); err != nil || !json.Valid(body) {
			t.Errorf("%s %v", body, err)
		}
		said <- r.Method + " " + r.URL.Path + " " + string(body)
		w.WriteHeader(http.StatusInternalServerError) // it may fail
	}))
	defer s.Close()
	stop := (&jobTale{id: "01J"}).stay(t.Context(), client.New(s.URL, "token", "es"))
	select {
	case got := <-said:
		if got != `POST /api/jobs/01J/results {"results":[]}` {
			t.Error(got)
		}
	case <-time.After(10 * time.Second):
		t.Error("it said nothing")
	}
	stop()
	was := n.Load()
	time.Sleep(50 * time.Millisecond)
	if n.Load() != was {
		t.Error("it goes on")
	}
}

// TestNoUndoForWhatWasMovedAway: a file that git would have obeyed is no longer there. What a deployment names outside of the folder
// is not deleted.
func TestNoUndoForWhatWasMovedAway(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "there"), nil, 0o600))
	here := &jobTale{machine: &machine.Machine{Options: machine.Options{Root: root}}}
	for _, c := range []struct {
		t          *jobTale
		name, want string
	}{
		{here, "there", "rm -- " + filepath.Join(root, "there")},
		{here, "w1/HEAD", ""},
		{&jobTale{}, "w1/HEAD", "rm -- w1/HEAD"},
		{&jobTale{}, "../x", ""},
		{&jobTale{}, "/etc/passwd", ""},
		{here, "../there", ""},
	} {
		if got := c.t.undo(job.ChangedFile{Name: c.name, Made: true}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	called := &jobTale{app: &app{name: "bin/piloto"}}
	if got := called.undo(job.ChangedFile{Name: "a b", Before: strings.Repeat("0f", 32)}); got != "bin/piloto workspace restore -- 'a b' 0f0f0f0f0f0f" {
		t.Error(got)
	}
}

// TestWhatAJobDoesAfterItsCommand: nobody answers the calls of a job with a folder any more.
func TestWhatAJobDoesAfterItsCommand(t *testing.T) {
	j := httpapi.Job{JobID: "01J", ChatID: "01C", Status: job.Waiting}
	waiting := outcome{Waiting: &waitsFor{Question: "Which one?"}}
	for _, c := range []struct {
		tag     locale.Tag
		machine *machine.Machine
		o       outcome
		want    string
	}{
		{locale.English, nil, waiting, "piloto jobs watch 01J\n"},
		{locale.Spanish, nil, waiting, "piloto jobs watch 01J\n"},
		{locale.English, &machine.Machine{Options: machine.Options{Root: "/a b"}}, waiting, "ends there in part. Ask for the rest with: piloto run --chat 01C -w '/a b' \"Go on\"\n"},
		{locale.Spanish, &machine.Machine{Options: machine.Options{Root: "/a"}}, waiting, "acaba ahí en parte. El resto se pide con: piloto run --chat 01C -w /a Sigue\n"},
		{locale.English, nil, outcome{}, ""},
	} {
		a, _, said := newApp(nil, "")
		a.tag = c.tag
		a.tellWait(j, c.o, &jobTale{machine: c.machine})
		if got := said.String(); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" || c.machine != nil && strings.Contains(got, "jobs watch") {
			t.Error(got)
		}
	}
}

// TestALookAtAFileIsToldInWords: what a look is about stands apart from its tool.
func TestALookAtAFileIsToldInWords(t *testing.T) {
	a, _, said := newApp(nil, "")
	a.tag = locale.English
	(&jobTale{app: a}).tell(httpapi.JobEvent{Seq: 1, Type: job.EventLooked, Data: []byte(`{"url":"files:t.txt","tool":"read_file"}`)})
	if got := said.String(); !strings.Contains(got, "Read: files:t.txt read_file\n") {
		t.Errorf("%q", got)
	}
}
