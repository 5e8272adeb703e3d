//go:build linux || darwin

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
)

// itself makes the test program the command piloto.
const itself = "PILOTO_TEST_IS_PILOTO"

func TestMain(m *testing.M) {
	sandbox.Main()
	if os.Getenv(itself) != "" {
		os.Exit(Main(os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Getenv))
	}
	os.Exit(m.Run())
}

// doomed is a command that works on a folder with a model that asks for calls again and again.
type doomed struct {
	t                  *testing.T
	home, folder, data string
	model              *httptest.Server
	asked              atomic.Int32 // how often the model was
}

// newDoomed has the script plant.sh run: it writes the file begun when it is under way. calls are those of the model, as JSON.
func newDoomed(t *testing.T, script, calls string) *doomed {
	// A child begins with the default of the signals that are handled here, also when nohup began the tests.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	t.Cleanup(func() { signal.Stop(handled) })
	d := &doomed{t: t, home: t.TempDir()}
	d.folder, d.data = filepath.Join(d.home, "work"), filepath.Join(d.home, "data")
	d.model = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		message, why := `"content":"Done."`, "stop"
		if d.asked.Add(1) == 1 || script == endless {
			message, why = `"tool_calls":`+calls, "tool_calls"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant",%s}}],`+
			`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, why, message)
	}))
	t.Cleanup(d.model.Close)
	must(t, os.Mkdir(d.folder, 0o700))
	must(t, os.WriteFile(filepath.Join(d.folder, "plant.sh"), []byte(script), 0o600))
	return d
}

const (
	endless   = "mkdir .git; touch begun; sleep 30"
	callPlant = `[{"id":"c","type":"function","function":{"name":"run_command","arguments":"{\"command\":\"sh plant.sh\"}"}}]`
)

// command returns the command piloto, as another process.
func (d *doomed) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(d.t.Context(), os.Args[0], append([]string{"--data", d.data, "--at", "here", "--lang", "en"}, args...)...)
	c.Env = append(os.Environ(), itself+"=1", "HOME="+d.home, "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "OPENAI_BASE_URL="+d.model.URL+"/v1", "OPENAI_API_KEY=k", "OPENAI_MODEL=m")
	c.WaitDelay = time.Second
	return c
}

// during runs until the script is under way, and then calls do. It returns the output and the exit code.
func (d *doomed) during(do func(c *exec.Cmd)) (string, int) {
	_ = os.Remove(filepath.Join(d.folder, "begun"))
	c := d.command("run", "-w", d.folder, "--mode", "yolo", "--no-sandbox", "--dev", "sh plant.sh", "x")
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	must(d.t, c.Start())
	d.untilBegun()
	do(c)
	_ = c.Wait()
	return said.String(), c.ProcessState.ExitCode()
}

func (d *doomed) untilBegun() {
	for range 160 {
		if _, err := os.Stat(filepath.Join(d.folder, "begun")); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// job returns the newest job.
func (d *doomed) job() (j httpapi.Job) {
	var list httpapi.JobList
	out, err := d.command("jobs", "list", "--json").Output()
	must(d.t, errors.Join(err, json.Unmarshal(out, &list)))
	out, err = d.command("jobs", "show", list.Jobs[0].JobID).Output()
	must(d.t, errors.Join(err, json.Unmarshal(out, &j)))
	return j
}

func sends(signals ...syscall.Signal) func(c *exec.Cmd) {
	return func(c *exec.Cmd) {
		for _, s := range signals {
			_ = c.Process.Signal(s)
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// Guarantee I25. A command may end in any way: the control files of git that it left are moved away; after SIGKILL, when
// the next one starts.
func TestASignalLeavesNothingForGit(t *testing.T) {
	d := newDoomed(t, endless, callPlant)
	for _, one := range []struct {
		signals []syscall.Signal
		code    int
	}{
		{[]syscall.Signal{syscall.SIGINT}, 130},
		{[]syscall.Signal{syscall.SIGHUP}, 129},
		{[]syscall.Signal{syscall.SIGQUIT}, 131},
		{[]syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGINT}, 0}, // the code is that of one of them
		{[]syscall.Signal{syscall.SIGKILL}, -1},
	} {
		said, code := d.during(sends(one.signals...))
		_, err := os.Lstat(filepath.Join(d.folder, ".git"))
		killed := one.signals[0] == syscall.SIGKILL
		if one.code != 0 && code != one.code || (err == nil) != killed || strings.Contains(said, ".git was moved away") == killed {
			t.Errorf("%v: %d, %v\n%s", one.signals, code, err, said)
		}
	}
	if said, _ := d.during(sends(syscall.SIGTERM)); strings.Count(said, ".git was moved away") != 2 { // once for the one that was killed
		t.Error(said)
	}
}

// TestASignalStopsTheJobFirst: its model is asked nothing more, and the record has the result of the call under way, and
// that the next one was not made. The end of a terminal comes more than once.
func TestASignalStopsTheJobFirst(t *testing.T) {
	const calls = `[{"id":"c","type":"function","function":{"name":"run_command","arguments":"{\"command\":\"sh plant.sh\"}"}},` +
		`{"id":"d","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"later\",\"content\":\"x\"}"}}]`
	for name, one := range map[string]struct {
		do   func(c *exec.Cmd)
		code int
	}{
		"Ctrl-C":                        {sends(syscall.SIGINT), 130},
		"Ctrl-C, passed on by npm":      {func(c *exec.Cmd) { _, _ = c.Process.Signal(syscall.SIGINT), c.Process.Signal(syscall.SIGINT) }, 130},
		"the end of a terminal":         {sends(syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP), 129},
		"Ctrl-C, and then its end":      {sends(syscall.SIGINT, syscall.SIGHUP, syscall.SIGHUP), 130},
		"its end, and that of a server": {sends(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGHUP), 129},
	} {
		d := newDoomed(t, "touch begun; sleep 30", calls)
		said, code := d.during(one.do)
		j := d.job()
		if code != one.code || j.StopReason != conversation.StopPerson || d.asked.Load() != 1 || len(j.Unknown) > 0 ||
			len(j.Commands) != 1 || j.Commands[0].ExitCode != 137 || len(j.Refused) != 1 || j.Refused[0].What != "later" || j.Refused[0].Code != job.RefusedStopped {
			t.Errorf("%s: %d, asked %d times, %+v\n%s", name, code, d.asked.Load(), j, said)
		}
	}
}

// TestAJobIsStoppedWhenNobodyReads: the reader of a command's output may end before it, with the terminal or with Ctrl-C.
func TestAJobIsStoppedWhenNobodyReads(t *testing.T) {
	d := newDoomed(t, "touch begun; sleep 30", callPlant)
	read, write, err := os.Pipe()
	must(t, err)
	c := d.command("run", "-w", d.folder, "--mode", "yolo", "--no-sandbox", "--dev", "sh plant.sh", "x")
	c.Stdout, c.Stderr = write, write
	must(t, errors.Join(c.Start(), write.Close()))
	d.untilBegun()
	must(t, errors.Join(read.Close(), c.Process.Signal(syscall.SIGINT)))
	_ = c.Wait()
	if j := d.job(); j.StopReason != conversation.StopPerson || c.ProcessState.ExitCode() != 130 {
		t.Errorf("%v, %+v", c.ProcessState, j)
	}
	c = d.command("jobs", "list")
	read, write, err = os.Pipe()
	must(t, err)
	var said strings.Builder
	c.Stdout, c.Stderr = write, &said
	must(t, errors.Join(read.Close(), c.Start(), write.Close()))
	_ = c.Wait()
	if c.ProcessState.ExitCode() != 141 || said.Len() > 0 { // as of a program that the signal ends
		t.Errorf("%v, %q", c.ProcessState, said.String())
	}
}

func TestWhichSignalInsists(t *testing.T) {
	const hup, in, term, quit = syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT
	for _, c := range []struct {
		signals []syscall.Signal
		apart   time.Duration
		want    int // the signal that ends at once; 0: none
	}{
		{[]syscall.Signal{in, in}, time.Second, 2},
		{[]syscall.Signal{term, term}, time.Second, 2},
		{[]syscall.Signal{in, term}, 0, 2},
		{[]syscall.Signal{in, quit}, 0, 2},
		{[]syscall.Signal{in, in}, 0, 0},
		{[]syscall.Signal{term, term}, echo, 0},
		{[]syscall.Signal{in, in, in}, 60 * time.Millisecond, 3},
		{[]syscall.Signal{hup, hup}, time.Second, 0},
		{[]syscall.Signal{in, hup}, time.Second, 0},
		{[]syscall.Signal{hup, term}, time.Second, 0},
		{[]syscall.Signal{hup, hup, term, hup, term}, time.Second, 5},
		{[]syscall.Signal{in, hup, in}, time.Second, 3},
	} {
		var i insistence
		at, got := time.Unix(0, 0), 0
		for n, s := range c.signals {
			if at = at.Add(c.apart); i.on(s, at) && got == 0 {
				got = n + 1
			}
		}
		if got != c.want {
			t.Errorf("%v, %v apart: %d, want %d", c.signals, c.apart, got, c.want)
		}
	}
}
