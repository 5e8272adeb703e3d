package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"piloto/infra/local/process"
)

var (
	crashAll    = flag.Bool("crash.all", false, "kill at every failpoint each time it passes, not in two scenarios at each")
	crashRounds = flag.Int("crash.rounds", 22, "how often the process is killed at random times")
	crashSeed   = flag.Uint64("crash.seed", 1, "of the random times")
)

// mustDie are the writes that the design must not separate, and the failpoints between them. A failpoint at which no
// process dies was renamed or removed.
var mustDie = []string{
	"runs.Propose", "runs.Confirm", "stepfn.start", "runs.run.started+step.started", "runs.step.started", "outbound.request", "runs.step.done+step.started",
	"runs.step.done", "runs.step.done+run.finished", "runs.run.started+handed_out", "runs.handed_out", "runs.handed.step.started", "runs.handed.step.done", "runs.taken_back", "runs.taken_back+run.finished", "runs.step.approval_asked", "runs.step.approved", "stepfn.wake", "runs.RequestCancel",
	"runs.BeginUndo", "runs.Discard", "runs.step.settled", "runs.run.finished", "runs.conclusion.taken", "runs.conclusion.ended", "chats.AddNewMessages", "chats.Say", "turn.model", "wallet.Reserve", "wallet.BuySession", "wallet.Settle", "wallet.Release",
	"runs.Postpone", "runs.Revise", "router.Remember", "access.AddConnection", "realtime.number", "replay.claim", "replay.finish", "mcp.call", "look", "conclude.model",
	"jobs.CreateJob", "jobs.AskRound", "jobs.AnswerRound", "jobs.round+looked", "jobs.round+proposed", "jobs.resumed", "jobs.round+ended", "jobs.judged", "jobs.judged+ended", "jobs.round+asked", "jobs.replied", "jobs.round+called", "jobs.told", "jobs.stopping", "jobs.ended", "round.model", "job.start", "job.wake",
	"states.Round.LambdaFunctionStarted", "jobs.lost", "states.Wait.TaskStarted", "states.Wait.TaskSubmitted", "states.Close.LambdaFunctionStarted", "states.StatusChange", "states.Step.LambdaFunctionStarted", "states.Effect.LambdaFunctionStarted", "states.Settle.LambdaFunctionStarted", "states.Seal.LambdaFunctionStarted", "states.SealFirst.LambdaFunctionStarted", "states.Conclude.LambdaFunctionStarted", "disk.commit", "disk.checkpoint", "disk.segment.remove",
}

// TestNothingIsLostWhereverTheProcessDies kills the process at each failpoint at which data could be lost,
// and at random times, in every scenario.
func TestNothingIsLostWhereverTheProcessDies(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	var out bytes.Buffer
	m, err := crash(moduleRoot(t), options{
		rounds: *crashRounds, atOnce: 8, few: !*crashAll, seed: *crashSeed, // a temporary folder with a short name, because it contains sockets
	}, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	committed := readMatrix(t, m)
	passed := map[string]bool{}
	for _, r := range m.results {
		if r.died {
			passed[failpointOf(r.point)] = true
		}
	}
	for point := range passed {
		if !strings.Contains(committed, "\n| `"+point+"` |") {
			t.Errorf("%s lacks the failpoint %s: write it again with -update", m.file(), point)
		}
	}
	for _, verb := range mustDie {
		for _, side := range []string{".before", ".after"} {
			if !passed[verb+side] {
				t.Errorf("nothing was killed at %s", verb+side)
			}
		}
	}
}

// TestTheMatricesAreOfTheseScenarios: what is committed has the text, the scenarios and the failpoints of now.
func TestTheMatricesAreOfTheseScenarios(t *testing.T) {
	for _, mode := range []string{process.InProcess, process.AsProcess} {
		m := &matrix{scenarios: scenarios, lambda: mode}
		committed := readMatrix(t, m)
		if !strings.HasPrefix(committed, m.head()) {
			t.Errorf("%s does not begin as it is written now", m.file())
		}
		rows := 0
		for line := range strings.Lines(committed) {
			if strings.Count(line, "|") == 7 && !strings.HasPrefix(line, "|---") {
				rows++
			}
		}
		if rows != len(scenarios)+1 {
			t.Errorf("%s has %d scenarios, and there are %d: write it again with -update", m.file(), rows-1, len(scenarios))
		}
		for _, sc := range scenarios {
			if !strings.Contains(committed, "\n| "+sc.name+" | "+sc.says+" | ") {
				t.Errorf("%s lacks the scenario %s as it is now: write it again with -update", m.file(), sc.name)
			}
		}
		for _, verb := range mustDie {
			if mode == process.AsProcess {
				break // a run has other writes with one step in an invocation
			}
			for _, side := range []string{".before", ".after"} {
				if !strings.Contains(committed, "\n| `"+verb+side+"` |") {
					t.Errorf("%s lacks the failpoint %s%s: write it again with -update", m.file(), verb, side)
				}
			}
		}
		if !strings.Contains(committed, ". 0 rounds failed.\n") {
			t.Errorf("%s is of rounds of which some failed", m.file())
		}
	}
}

func readMatrix(t *testing.T, m *matrix) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(moduleRoot(t), m.file()))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestFailpointsAreInNoOtherBuild checks that a deployed binary has neither the code nor the names of
// failpoints.
func TestFailpointsAreInNoOtherBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the deployment")
	}
	binary := filepath.Join(t.TempDir(), "piloto")
	build := exec.Command("go", "build", "-o", binary, "./cmd/piloto")
	build.Dir = moduleRoot(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"PILOTO_FAILPOINT", "internal/ground/failpoint.", "outbound.request.before", "disk.commit.after", "turn.model.before", "mcp.call.before"} {
		if bytes.Contains(raw, []byte(word)) {
			t.Errorf("%s is in the binary", word)
		}
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}
