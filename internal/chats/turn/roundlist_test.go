package turn_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// jobLists is a world with jobs, and what a model of it says of them.
type jobLists struct {
	*jobWorld
	chats []conversation.Chat
	jobs  []job.Job       // as they were started
	waits map[string]bool // the jobs that wait for a person
}

// listed returns the ids of the jobs in the list of what waits, and of those whose drafts stand in it.
func (w *jobLists) listed(t *rapid.T) (jobs, drafts []string) {
	var last time.Time
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := w.Store.Runs.Waiting(context.Background(), fixture.Account, "", w.Clock(), cursor, 2)
		if err != nil || len(page) > 2 {
			t.Fatal(len(page), err)
		}
		for _, wait := range page {
			if wait.At().Before(last) {
				t.Fatalf("what is due at %s follows what is due at %s", wait.At(), last)
			}
			last = wait.At()
			if wait.Kind == plan.WaitJob {
				jobs = append(jobs, wait.Job.ID)
			} else {
				drafts = append(drafts, wait.Run.JobID)
			}
		}
		cursor = next
	}
	return jobs, drafts
}

// TestListOfWhatWaitsHasTheJobsThatWait: whatever happens to jobs and to their plans, the list of what waits has each job
// that waits for a person, once, and no other.
func TestListOfWhatWaitsHasTheJobsThatWait(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &jobLists{jobWorld: newJobWorld(t), waits: map[string]bool{}}
		w.Store.Runs.Jobs, w.service.Questions = w.jobWorld.jobs, w.jobWorld.jobs
		w.service.Paid.Models = providers{models(func(_ context.Context, r llm.Request) (llm.Reply, error) {
			switch last := r.Messages[len(r.Messages)-1]; {
			case len(r.Tools) == 0 || last.Role == llm.ToolRole:
				return text("fin"), nil
			case strings.Contains(last.Content, "Pregunta"):
				return calls("ask_person", askFor), nil
			}
			return calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), nil
		})}
		w.chats = []conversation.Chat{w.Chat, w.NewChat()}
		goOn := func(j job.Job) {
			now := w.drive(t, j.ID)
			w.waits[j.ID] = now.Status == job.Waiting
		}
		one := func(rt *rapid.T) job.Job {
			if len(w.jobs) == 0 {
				rt.Skip("there is no job")
			}
			return rapid.SampledFrom(w.jobs).Draw(rt, "job")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"start": func(rt *rapid.T) {
				w.Chat = rapid.SampledFrom(w.chats).Draw(rt, "chat")
				w.Pass(time.Second)
				j := w.start(t, "build", job.Order{Prompt: rapid.SampledFrom([]string{"Reserva una sala", "Pregunta y reserva"}).Draw(rt, "prompt")})
				w.jobs = append(w.jobs, j)
				goOn(j)
			},
			"go on": func(rt *rapid.T) { goOn(one(rt)) },
			"confirm": func(rt *rapid.T) {
				j := w.job(t, one(rt).ID)
				if j.RunID == "" || w.Read(j.RunID).Status != plan.Draft {
					rt.Skip("nothing to confirm")
				}
				if w.Confirm(w.Read(j.RunID)) == nil {
					w.Execute(j.RunID)
				}
			},
			"reject": func(rt *rapid.T) {
				if j := w.job(t, one(rt).ID); j.RunID != "" { // one that ended is refused
					_, _ = w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: j.RunID})
				}
			},
			"say": func(rt *rapid.T) {
				w.Chat = rapid.SampledFrom(w.chats).Draw(rt, "chat")
				w.Pass(time.Second)
				if asking := w.ChatNow().AskingJobID; asking != "" && w.job(t, asking).Question != "" {
					w.waits[asking] = false // it is the answer, or it comes too late
				}
				w.send(t, "la primera")
			},
			"stop": func(rt *rapid.T) {
				j := one(rt)
				if _, err := w.jobWorld.jobs.Stop(context.Background(), fixture.Account, j.ID); err == nil {
					w.waits[j.ID] = false
				}
			},
			"pass":  func(rt *rapid.T) { w.Pass(time.Duration(rapid.IntRange(1, 60).Draw(rt, "hours")) * time.Hour) },
			"sweep": func(*rapid.T) { _, _ = w.jobWorld.jobs.Sweep(context.Background()) },
			"": func(rt *rapid.T) {
				var want []string
				for _, j := range w.jobs {
					if w.waits[j.ID] && w.Clock().Before(j.EndsAt) {
						want = append(want, j.ID)
					}
				}
				got, drafts := w.listed(rt)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					rt.Fatalf("the list has %q, and %q wait", got, want)
				}
				for _, id := range drafts {
					if id != "" && !slices.ContainsFunc(w.jobs, func(j job.Job) bool { return j.ID == id }) {
						rt.Fatalf("a draft of the job %q", id)
					}
				}
			},
		})
	})
}

func TestWaitOfAJobNamesItsPlanAndItsEnd(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
	j := w.drive(t, w.start(t, "build", job.Order{Prompt: strings.Repeat("larga ", 50)}).ID)
	list, _, err := w.Store.Runs.Waiting(t.Context(), fixture.Account, w.Chat.ID, w.Clock(), "", 10)
	if err != nil || len(list) != 2 || list[0].Run.JobID != j.ID {
		t.Fatalf("%+v %v", list, err)
	}
	want := plan.JobWait{ID: j.ID, Agent: "build", ChatID: w.Chat.ID, Title: conversation.Title(j.Prompt), RunID: j.RunID}
	if got := list[1]; got.Kind != plan.WaitJob || got.Job != want || !got.Due.Equal(j.EndsAt) || got.Asked.Before(j.CreatedAt) {
		t.Errorf("%+v, want %+v until %s", got, want, j.EndsAt)
	}
	if err := w.Store.Chats.DeleteChat(t.Context(), w.ChatKey()); err != nil {
		t.Fatal(err)
	}
	if list, _, err := w.Store.Runs.Waiting(t.Context(), fixture.Account, "", w.Clock(), "", 10); len(list) != 0 || err != nil {
		t.Errorf("after its chat was deleted: %+v %v", list, err)
	}
}
