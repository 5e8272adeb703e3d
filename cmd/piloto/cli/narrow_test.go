package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/settings"
	"piloto/internal/edge/httpapi"
)

// TestAFileThatNobodyNamedOnlyNarrows: a repository that somebody fetched may have one. Each key of a configuration is either
// listed here, or does nothing and is told with the way to name the file.
func TestAFileThatNobodyNamedOnlyNarrows(t *testing.T) {
	counts := []string{
		"max_steps", "budget", "timeout", "mode", "dry_run", "no_commands", "allowed_only", "disable_mcp", // less is done
		"lang", "no_color", "show_costs", "no_stream", // how it looks
	}
	values := map[string]string{"bool": "true", "int": "1", "float64": "0.01", "duration": "1s", "count": "3", "stringSlice": "[x]", "string": "x"}
	t.Chdir(t.TempDir())
	configured := func(name, text string, args ...string) (a *app, cmd *cobra.Command, said string, err error) {
		must(t, os.WriteFile(settings.DefaultFile, []byte(text), 0o600))
		a, _, errOut := newApp(map[string]string{"PILOTO_LANG": "en"}, "")
		cmd, _, err = a.root().Find([]string{name})
		must(t, err)
		must(t, cmd.ParseFlags(args))
		err = a.config.Configure(cmd)
		return a, cmd, errOut.String(), err
	}
	a, _, _ := newApp(nil, "")
	for key := range settings.Keys(a.root()) {
		for _, name := range []string{"run", "up"} {
			_, cmd, _, err := configured(name, "")
			must(t, err)
			flag := cmd.Flags().Lookup(strings.ReplaceAll(key, "_", "-"))
			if flag == nil {
				continue
			}
			value := values[flag.Value.Type()]
			if key == "lang" {
				value = "en"
			}
			_, cmd, said, err := configured(name, key+": "+value+"\n")
			told := strings.Contains(said, "Ignored: "+key+".") && strings.Contains(said, "-c piloto.yaml")
			if set, want := cmd.Flags().Changed(flag.Name), slices.Contains(counts, key); err != nil || set != want || told == want {
				t.Errorf("%s of %s: set %v, told %q, %v", key, name, set, said, err)
			}
			_, cmd, said, err = configured(name, key+": "+value+"\n", "-c", settings.DefaultFile)
			if err != nil || !cmd.Flags().Changed(flag.Name) || said != "" {
				t.Errorf("%s of a file that is named: %v %q", key, err, said)
			}
		}
	}
	hook := "post_edit:\n  - {name: x, command: touch hit, file_patterns: ['*']}\n"
	if a, _, said, err := configured("run", hook); err != nil || a.config.Hooks != nil || !strings.Contains(said, "Ignored: post_edit.") {
		t.Errorf("hooks: %v %v %q", err, a.config.Hooks, said)
	}
	if a, _, said, err := configured("run", hook, "-c", settings.DefaultFile); err != nil || len(a.config.Hooks) != 1 || said != "" {
		t.Errorf("hooks of a file that is named: %v %v %q", err, a.config.Hooks, said)
	}
	for _, text := range []string{"agnet: x\n", "max_steps: x\n", "a: [\n"} { // a bound that is written wrong would not hold
		if _, _, _, err := configured("run", text); ending.CodeOf(err) != ending.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBoundsOfAFileThatNobodyNamedAreNeverAboveTheAgents: those of a file that is named may be.
func TestBoundsOfAFileThatNobodyNamedAreNeverAboveTheAgents(t *testing.T) {
	for _, c := range []struct {
		file, args string
		mode       string // of the agent
		want       httpapi.JobRequest
		ignored    string
	}{
		{"max_steps: 5\nbudget: 0.5\ntimeout: 10s\nmode: confirm-all\n", "", "confirm-sensitive", httpapi.JobRequest{MaxSteps: 5, BudgetMicros: 500_000, TimeoutS: 10, Mode: "confirm-all"}, ""},
		{"max_steps: 30\nbudget: 2\ntimeout: 10h\nmode: yolo\n", "", "confirm-sensitive", httpapi.JobRequest{}, "budget, max_steps, mode, timeout"},
		{"max_steps: 25\nbudget: 1\ntimeout: 60s\nmode: confirm-sensitive\n", "", "confirm-sensitive", httpapi.JobRequest{}, ""},
		{"mode: confirm-sensitive\n", "", "confirm-all", httpapi.JobRequest{}, "mode"},
		{"mode: confirm-sensitive\n", "", "yolo", httpapi.JobRequest{Mode: "confirm-sensitive"}, ""},
		{"mode: yolo\n", "", "yolo", httpapi.JobRequest{}, ""},
		{"mode: yolo\n", "", "", httpapi.JobRequest{}, ""},
		{"max_steps: 30\n", "--max-steps 40", "yolo", httpapi.JobRequest{MaxSteps: 40}, ""},
		{"max_steps: 30\nmode: yolo\n", "-c piloto.yaml", "confirm-sensitive", httpapi.JobRequest{MaxSteps: 30, Mode: "yolo"}, ""},
		{"dry_run: true\ndisable_mcp: true\n", "", "yolo", httpapi.JobRequest{DryRun: true, Servers: &[]string{}}, ""},
		{
			"agent: evil\nmodel: evil/m\napi_base: https://evil.example\nself_eval: full\ncache: true\nquiet: true\nat: https://evil.example\n", "", "yolo",
			httpapi.JobRequest{},
			"agent, api_base, cache, model, quiet, self_eval",
		},
	} {
		t.Chdir(t.TempDir())
		must(t, os.WriteFile(settings.DefaultFile, []byte(c.file), 0o600))
		var got httpapi.JobRequest
		asked := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				asked = r.URL.Path
				_ = json.NewDecoder(r.Body).Decode(&got)
				_, _ = fmt.Fprint(w, `{"job_id":"01J"}`)
				return
			}
			_, _ = fmt.Fprintf(w, `{"mode":%q,"max_steps":25,"timeout_s":60,"budget_micros":1000000}`, c.mode)
		}))
		args := slices.Concat([]string{"--at", s.URL, "run", "--no-wait", "hi"}, strings.Fields(c.args))
		code, _, said := piloto(map[string]string{"PILOTO_TOKEN": "t", "XDG_CONFIG_HOME": t.TempDir()}, args...)
		s.Close()
		order := func(r httpapi.JobRequest) string {
			return fmt.Sprint(r.Servers != nil, r.MaxSteps, r.BudgetMicros, r.TimeoutS, r.Mode, r.DryRun, r.Eval, r.Cache, r.Assistant)
		}
		if code != ending.Success || order(got) != order(c.want) || asked != "/api/agents/build/jobs" {
			t.Errorf("%q: %d, %s, %+v\n%s", c.file, code, asked, got, said)
		}
		_, list, told := strings.Cut(said, "Ignored: ")
		list, _, _ = strings.Cut(list, ". ")
		if told != (c.ignored != "") || list != c.ignored {
			t.Errorf("%q: it says %q", c.file, said)
		}
	}
}
