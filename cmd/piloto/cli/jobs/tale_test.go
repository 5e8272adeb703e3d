package jobs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/console/consoletest"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/cli/talk"
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
	stop := (&jobTale{id: "01J"}).stay(t.Context(), client.New(client.Target{Origin: s.URL, Token: "token"}, "es"))
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

// TestNoUndoForWhatWasMovedAway: a control file of git is no longer there. A file that a deployment names outside of the
// folder is not deleted.
func TestNoUndoForWhatWasMovedAway(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
	called := &jobTale{con: &console.Console{Name: "bin/piloto"}}
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
		con, _, said := consoletest.New(nil, "")
		con.Tag = c.tag
		newJobs(con).tellWait(j, c.o, &jobTale{machine: c.machine})
		if got := said.String(); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" || c.machine != nil && strings.Contains(got, "jobs watch") {
			t.Error(got)
		}
	}
}

// TestALookAtAFileIsToldInWords: the object of a read is apart from its tool.
func TestALookAtAFileIsToldInWords(t *testing.T) {
	con, _, said := consoletest.New(nil, "")
	con.Tag = locale.English
	(&jobTale{con: con}).print(httpapi.JobEvent{Seq: 1, Type: job.EventRead, Data: []byte(`{"url":"files:t.txt","tool":"read_file"}`)})
	if got := said.String(); !strings.Contains(got, "Read: files:t.txt read_file\n") {
		t.Errorf("%q", got)
	}
}

// TestAProcessOfThisMachineIsNoPlaceElsewhere: a prompt goes to the provider at once.
func TestAProcessOfThisMachineIsNoPlaceElsewhere(t *testing.T) {
	for lang, want := range map[string]string{
		"es": "Lo que pides y los archivos que lea el agente van a openai (m, api.openai.com).",
		"en": "go to openai (m, api.openai.com).",
	} {
		con, _, errOut := consoletest.New(map[string]string{"PILOTO_LANG": lang, "XDG_CONFIG_HOME": t.TempDir()}, "")
		con.Tag = con.Language()
		g := newJobs(con)
		g.Deployment.At = reach.Here
		answers := map[string]string{
			"/ai/eligibility": `{"provider":"openai","model":"m","providerOrder":["openai"]}`, "/api/agents/build": `{"name":"build"}`,
			"/ai/providers": `{"providers":[{"provider":"openai","base_url":"https://api.openai.com/v1"}]}`,
		}
		there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, answers[r.URL.Path]) }))
		defer there.Close()
		c := client.New(client.Target{Origin: there.URL, Token: "t"}, "en")
		if err := g.tellWhere(t.Context(), c, &work{agent: "build"}, nil); err != nil || !strings.Contains(errOut.String(), want) || strings.Contains(errOut.String(), "127.0.0.1") {
			t.Errorf("%s: %q, %v", lang, errOut, err)
		}
	}
}

// newJobs returns the commands of a console.
func newJobs(con *console.Console) *Group {
	d := &reach.Deployment{Con: con, Folders: &reach.Folders{Con: con}}
	r := &runs.Group{Con: con, Deployment: d}
	return &Group{Con: con, Deployment: d, Folders: d.Folders, Runs: r, Talk: &talk.Group{Con: con, Deployment: d, Runs: r}}
}
