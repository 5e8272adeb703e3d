package job_test

import (
	"slices"
	"strings"
	"testing"

	"piloto/internal/chats/job"
)

// step is what a call of a tool came to.
type step struct {
	tool string
	deed job.Deed
}

func change(tool, name string) step { return step{tool, job.Deed{Kind: job.DeedChange, Name: name}} }

func deletes(tool, name string) step {
	return step{tool, job.Deed{Kind: job.DeedChange, Name: name, Deleted: true}}
}

func runs(line string) step  { return step{"run_command", job.Deed{Kind: job.DeedCommand, Name: line}} }
func reads(name string) step { return step{"read_file", job.Deed{Kind: job.DeedRead, Name: name}} }

func (s step) refused(why job.Refused) step { s.deed.Refused = why; return s }
func (s step) failed() step                 { s.deed.Failed = true; return s }

// TestARefusalStaysUntilTheSameIsDone: something else that is done to the same file does not make it good.
func TestARefusalStaysUntilTheSameIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		was, then step
		stays     bool
	}{
		"a deletion, then an edit":        {deletes("delete_file", "a").refused(job.RefusedPerson), change("edit_file", "a"), true},
		"an edit, then the deletion":      {change("edit_file", "a").refused(job.RefusedPerson), deletes("delete_file", "a"), true},
		"a deletion by a patch":           {deletes("apply_patch", "a").refused(job.RefusedNobody), change("apply_patch", "a"), true},
		"the deletion was made":           {deletes("delete_file", "a").refused(job.RefusedUnanswered), deletes("delete_file", "a"), false},
		"an edit, and made then":          {change("edit_file", "a").refused(job.RefusedPerson), change("edit_file", "a"), false},
		"overwriting, then an edit":       {change("write_file", "a").refused(job.RefusedPerson), change("edit_file", "a"), true},
		"another file":                    {change("edit_file", "a").refused(job.RefusedPerson), change("edit_file", "b"), true},
		"a file of the name of a command": {change("edit_file", "make").refused(job.RefusedPerson), runs("make"), true},
		"a command, then the same":        {runs("rm a").refused(job.RefusedNobody), runs("rm a"), false},
		"a command, then another":         {runs("rm a").refused(job.RefusedNobody), runs("rm b"), true},
		"an edit, then it is read":        {change("edit_file", "a").refused(job.RefusedHidden), reads("a"), true},
		"a read, then an edit":            {reads("a").refused(job.RefusedHidden), change("edit_file", "a"), true},
		"a read, then the read":           {reads("a").refused(job.RefusedPerson), reads("a"), false},
		"an edit failed, then a patch":    {change("edit_file", "a").failed(), change("apply_patch", "a"), false},
		"an edit failed, then a write":    {change("edit_file", "a").failed(), change("write_file", "a"), false},
		"an edit failed, then deleted":    {change("edit_file", "a").failed(), deletes("delete_file", "a"), true},
		"a deletion failed, then a write": {deletes("delete_file", "a").failed(), change("write_file", "a"), true},
	} {
		var r job.Record
		r.Add(c.was.tool, c.was.deed)
		if len(r.Refused) != 1 {
			t.Errorf("%s: %+v", name, r.Refused)
		}
		r.Add(c.then.tool, c.then.deed)
		if stays := len(r.Refused) == 1; stays != c.stays || r.Ended(job.Success) == job.Success == c.stays {
			t.Errorf("%s: %+v", name, r.Refused)
		}
	}
}

// TestACallOfNoToolStaysUntilTheSameIsDone: only a tool whose name says just one act is made good by another tool.
func TestACallOfNoToolStaysUntilTheSameIsDone(t *testing.T) {
	for _, c := range []struct {
		tool  string
		then  step
		stays bool
	}{
		{"write_files", change("write_file", "a"), false},
		{"createFile", change("write_file", "a"), false},
		{"str_replace", change("edit_file", "a"), false},
		{"remove_file", deletes("delete_file", "a"), false},
		{"remove_file", change("edit_file", "a"), true},
		{"delete_file", change("write_file", "a"), true},
		{"deploy_site", change("edit_file", "a"), true},
		{"move_file", deletes("delete_file", "a"), true},
		{"write_and_publish", change("write_file", "a"), true},
		{"writeSQL", change("write_file", "a"), true},
		{"write_s3", change("write_file", "a"), true},
		{"bash", change("write_file", "a"), true},
		{"bash", runs("a"), false},
		{"write_files", deletes("delete_file", "a"), true},
		{"write_files", change("write_file", "b"), true},
		{"", change("write_file", "a"), true},
	} {
		var r job.Record
		r.Fail(c.tool, `{"path":"./a"}`, job.RefusedTool)
		if r.Add(c.then.tool, c.then.deed); (len(r.Refused) == 1) != c.stays {
			t.Errorf("%s, then %+v: %+v", c.tool, c.then, r.Refused)
		}
	}
	long := strings.Repeat("write", 30)
	var r job.Record
	r.Fail(long, `{}`, job.RefusedTool)
	if r.Done(long); len(r.Refused) != 1 || r.Refused[0].Tool != "" {
		t.Errorf("%+v", r.Refused)
	}
}

// TestARefusalSaysWhatItWouldHaveDone: «Borra a.txt», and not «Edita a.txt». Two tools that were refused the same are told once.
func TestARefusalSaysWhatItWouldHaveDone(t *testing.T) {
	no := func(d job.Deed) job.Deed { d.Kind, d.Refused = job.DeedChange, job.RefusedPerson; return d }
	var r job.Record
	r.Add("delete_file", no(job.Deed{Name: "a.txt", Deleted: true}))
	r.Add("write_file", no(job.Deed{Name: "b.txt", Made: true}), no(job.Deed{Name: "c.txt"}))
	r.Add("edit_file", no(job.Deed{Name: "c.txt"}))
	var said []string
	for _, p := range r.Phrases() {
		said = append(said, p.In("es"))
	}
	want := []string{"No se hizo: Borra a.txt: la persona dijo que no", "No se hizo: Crea b.txt: la persona dijo que no", "No se hizo: Edita c.txt: la persona dijo que no"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

func TestAPatchSaysWhatItDeletes(t *testing.T) {
	patch := `{"patch":"--- a/x.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n--- a/y.go\n+++ b/y.go\n@@ -1 +1 @@\n-a\n+b\n"}`
	if !job.Deletes("apply_patch", patch, "x.go") || job.Deletes("apply_patch", patch, "y.go") || !job.Deletes("delete_file", `{"path":"z"}`, "z") || job.Deletes("edit_file", `x`, "z") {
		t.Error("it is read wrong")
	}
}

// TestOnlyTheCodeOfItsTestsBreaksAJob: a job that changed files ends as its last tests did, whose exit code is known. Of others the record
// says that their code is of another program.
func TestOnlyTheCodeOfItsTestsBreaksAJob(t *testing.T) {
	ran := func(line string, code int) job.Deed {
		return job.Deed{Kind: job.DeedCommand, Name: line, ExitCode: code}
	}
	late := job.Deed{Kind: job.DeedCommand, Name: "npm test | tail", ExitCode: 137, TimedOut: true}
	for _, c := range []struct {
		ran      []job.Deed
		broken   bool
		unproved int
	}{
		{[]job.Deed{ran("npm test", 1)}, true, 0},
		{[]job.Deed{ran("npm test", 1), ran("npm test", 0)}, false, 0},
		{[]job.Deed{ran("npm test", 1), ran("npm test || true", 0)}, true, 1},
		{[]job.Deed{ran("npm test", 1), ran("npm test | tail", 0), ran("npm test", 0)}, false, 1},
		{[]job.Deed{ran("npm test || true", 0), ran("npm test; echo done", 0), ran("npm test | tail -5", 0)}, false, 3},
		{[]job.Deed{ran("npm test; ls missing", 2)}, false, 1},
		{[]job.Deed{ran("set -o pipefail; npm test | tail", 1)}, true, 0},
		{[]job.Deed{ran("cd web && npm test", 1)}, true, 0},
		{[]job.Deed{ran("npm run build && npm test", 1), ran("npm test", 0)}, false, 0},
		{[]job.Deed{ran("command -v pytest", 1), ran("which jest", 1), ran(`python3 -c "import test_missing"`, 1), ran("grep -r test .", 1), ran("ls test", 2)}, false, 0},
		{[]job.Deed{late}, true, 0},
	} {
		var r job.Record
		r.Add("edit_file", job.Deed{Kind: job.DeedChange, Name: "a"})
		r.Add("run_command", c.ran...)
		unproved := 0
		for _, o := range r.Commands {
			if o.Unproved {
				unproved++
			}
		}
		if r.Broken() != c.broken || r.Ended(job.Success) == job.Partial != c.broken || unproved != c.unproved {
			t.Errorf("%+v: broken %v, %d unproved", c.ran, r.Broken(), unproved)
		}
	}
	var r job.Record
	d := ran("npm test | tail", 0)
	r.Add("run_command", d)
	if got := r.Phrases()[0].In("es"); got != "Ejecutado: npm test | tail → 0, que no dice cómo acabaron sus pruebas o su compilación" {
		t.Error(got)
	}
	if got := d.Phrase().In("en"); got != "Runs npm test | tail → 0, which does not say how its tests or its build ended" {
		t.Error(got)
	}
}

// TestWhatACommandChangedCountsAsAChange: with tests that fail the job is partial then. The tests themselves, the build, and what is
// known to only read, are no change.
func TestWhatACommandChangedCountsAsAChange(t *testing.T) {
	for _, c := range []struct {
		lines  []string
		broken bool
	}{
		{[]string{"sed -i s/one/ONE/ a.txt", "make test!"}, true},
		{[]string{"sed -i s/one/ONE/ a.txt!", "make test!"}, true},
		{[]string{"make test!", "sed -i s/one/ONE/ a.txt"}, true},
		{[]string{"sed -i s/one/ONE/ a.txt", "make test!", "make test"}, false},
		{[]string{"sed -i s/one/ONE/ a.txt && make test!"}, true},
		{[]string{"bash -c 'sed -i s/a/b/ a.txt' && make test!"}, true},
		{[]string{"X=$(rm -rf src) make test!"}, true},
		{[]string{"printf x >> a.txt", "make test!"}, true},
		{[]string{"echo x > a.txt", "npm test!"}, true},
		{[]string{"mv a b", "npm test!"}, true},
		{[]string{"gofmt -w .", "go test ./...!"}, true},
		{[]string{"go generate ./...", "go test ./...!"}, true},
		{[]string{"npm install", "npm test!"}, true},
		{[]string{"npm run format", "npm test!"}, true},
		{[]string{"make generate", "make test!"}, true},
		{[]string{"timeout 60 make generate", "make test!"}, true},
		{[]string{"cargo fix", "cargo test!"}, true},
		{[]string{"python3 mend.py", "pytest!"}, true},
		{[]string{"sed -i s/x/y/ .npmrc", "npm test!"}, true},
		{[]string{"cp ~/.npmrc .npmrc", "npm test!"}, true},
		{[]string{"cp /etc/passwd a", "npm test!"}, true},
		{[]string{"git checkout -- a.txt", "make!"}, true},
		{[]string{"cat > a.go <<E\nx\nE", "go build ./...!"}, true},
		{[]string{"make test!"}, false},
		{[]string{"make test!", "make test!", "make test!"}, false},
		{[]string{"npm run build", "npm test!"}, false},
		{[]string{"make clean test!"}, false},
		{[]string{"make lint!", "make test!"}, false},
		{[]string{"make generate!"}, false},
		{[]string{"make all", "make check!"}, false},
		{[]string{"cd web && CI=1 npm test!"}, false},
		{[]string{"timeout 60 go test ./...!", "go vet ./...", "git status", "ls"}, false},
		{[]string{"cat a.txt", "grep -rn x .!", "set -o pipefail; npm test 2>&1 | tail -40!"}, false},
		{[]string{"make test; echo \"exit: $?\"", "make test!"}, false},
		{[]string{"cat ~/.npmrc", "env", "find / -name x!", "npm test!"}, false},
		{[]string{"npm test &", "npm test!"}, false},
	} {
		var r job.Record
		for _, line := range c.lines {
			line, fails := strings.CutSuffix(line, "!")
			d := job.Deed{Kind: job.DeedCommand, Name: line}
			if fails {
				d.ExitCode = 2
			}
			r.Add("run_command", d)
		}
		if r.Broken() != c.broken || r.Ended(job.Success) == job.Partial != c.broken {
			t.Errorf("%q: broken %v", c.lines, r.Broken())
		}
	}
	plan := job.Record{Plans: 1}
	if plan.Add("run_command", job.Deed{Kind: job.DeedCommand, Name: "make test", ExitCode: 2}); !plan.Broken() {
		t.Error("a plan changed something")
	}
}

// TestAFileThatIsAsItWasDidNotChange: what failed meanwhile does not make the job partial then.
func TestAFileThatIsAsItWasDidNotChange(t *testing.T) {
	var r job.Record
	r.Add("edit_file", job.Deed{Kind: job.DeedChange, Name: "a", Added: 1, AllAdded: 1})
	r.Add("run_command", job.Deed{Kind: job.DeedCommand, Name: "npm test", ExitCode: 1})
	if r.Ended(job.Success) != job.Partial {
		t.Errorf("%+v", r)
	}
	r.Add("edit_file", job.Deed{Kind: job.DeedChange, Name: "a", Removed: 1, Same: true})
	if len(r.Changes) != 0 || r.Ended(job.Success) != job.Success {
		t.Errorf("%+v", r)
	}
}

// TestTheLastTextSaysNothingUnknownThatIsKnown: the client may answer between the text and the end, or behind the end.
func TestTheLastTextSaysNothingUnknownThatIsKnown(t *testing.T) {
	j := job.Job{
		Locale: "es", Tools: []job.Tool{{Name: "write_file", Writes: true}}, Output: "Fin.\nNo se sabe si se hizo: write_file a.go\nNo se sabe si se hizo: write_file b.go\nNo se sabe si se hizo: Compra",
		Open: []job.OpenCall{{ID: "1.0", Name: "write_file", Arguments: `{"path":"a.go"}`}, {ID: "1.1", Name: "write_file", Arguments: `{"path":"b.go"}`}},
	}
	j.Record.InDoubt = []string{"Compra"}
	before := j.Output
	if j.CloseRecord(); j.Output != before || len(j.Record.Unknown) != 3 {
		t.Errorf("%q, %q", j.Output, j.Record.Unknown)
	}
	j.Results = []job.ToolResult{{ID: "1.0"}}
	if j.CloseRecord(); j.Output != "Fin.\nNo se sabe si se hizo: write_file b.go\nNo se sabe si se hizo: Compra" || len(j.Record.Unknown) != 2 {
		t.Errorf("%q, %q", j.Output, j.Record.Unknown)
	}
}
