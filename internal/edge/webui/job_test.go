package webui

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"piloto/internal/access/auth"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
)

// Job implements job.Reader.
func (m *memory) Job(_ context.Context, account ids.Account, id string) (job.Job, error) {
	return find(m, account, m.jobs, id, job.ErrNotFound)
}

// Jobs implements job.Reader.
func (m *memory) Jobs(context.Context, ids.Account, string, int) ([]job.Job, string, error) {
	return nil, "", nil
}

// JobEvents implements job.Reader.
func (m *memory) JobEvents(_ context.Context, account ids.Account, id string, after, limit int) ([]job.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.jobEvents[id]
	if account != m.account || after > len(list) {
		return nil, nil
	}
	return list[after:min(len(list), after+limit)], nil
}

// moveJob changes a job with an event, and tells those who listen. The lock is held.
func (m *memory) moveJob(id, kind string, data map[string]any, change func(*job.Job)) {
	j := m.jobs[id]
	change(&j)
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	j.Events++
	m.jobs[id] = j
	m.jobEvents[id] = append(m.jobEvents[id], job.Event{Seq: j.Events, At: m.now(), Type: kind, Data: raw})
	m.tell("job", map[string]any{"conversationId": j.ChatID, "job_id": id, "status": j.Status, "rounds": j.Rounds})
}

// beginJob has an agent work on a prompt. The lock is held.
func (m *memory) beginJob(agent, chatID, prompt string) job.Job {
	said := m.say(chatID, conversation.RoleUser, conversation.KindText, "", prompt)
	list := m.messages[chatID]
	list[len(list)-1].JobID = said.ID
	m.jobs[said.ID] = job.Job{ID: said.ID, Account: m.account, Agent: agent, ChatID: chatID, Prompt: prompt, Status: job.Running}
	m.moveJob(said.ID, job.EventStarted, nil, func(*job.Job) {})
	return m.jobs[said.ID]
}

// jobRoutes are the routes of agents and of their jobs.
func (w *world) jobRoutes(locked func(string, func(http.ResponseWriter, *http.Request, map[string]any))) {
	locked("GET /api/agents", func(rw http.ResponseWriter, _ *http.Request, _ map[string]any) {
		tell(rw, 200, map[string]any{"agents": []map[string]any{{"name": "build", "kind": "loop", "description": "Mira y propone"}}})
	})
	locked("POST /api/agents/{name}/jobs", func(rw http.ResponseWriter, r *http.Request, body map[string]any) {
		chatID, _ := body["chat_id"].(string)
		prompt, _ := body["prompt"].(string)
		tell(rw, 202, map[string]any{"job_id": w.beginJob(r.PathValue("name"), chatID, prompt).ID})
	})
	locked("POST /api/jobs/{id}/stop", func(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
		id := r.PathValue("id")
		if w.jobs[id].Status.Terminal() {
			refuse(rw, 409, "job.ended", "El trabajo ya ha terminado.")
			return
		}
		w.moveJob(id, job.EventStopping, nil, func(j *job.Job) { j.StopAt = w.now() })
		tell(rw, 202, map[string]any{"job_id": id})
	})
}

// TestJobSaysHowFarItHasCome: in its chat, in both languages, whatever its state is.
func TestJobSaysHowFarItHasCome(t *testing.T) {
	for name, c := range map[string]struct {
		job  job.Job
		es   string
		en   string
		stop bool
	}{
		"runs":     {job.Job{Status: job.Running, Rounds: 2}, "Trabaja, ronda 3", "Working, round 3", true},
		"waits":    {job.Job{Status: job.Waiting, Rounds: 2}, "Espera a que se decida su plan", "Waits until its plan is decided", true},
		"asks":     {job.Job{Status: job.Waiting, Question: "¿Cuál?"}, "Te pregunta algo", "Asks you something", true},
		"client":   {job.Job{Status: job.Waiting, Open: []job.OpenCall{{ID: "1.0"}}}, "Espera a la máquina de quien lo empezó", "Waits for the machine of whoever started it", true},
		"stopping": {job.Job{Status: job.Waiting, StopAt: noon}, "Se está parando", "Is being stopped", false},
		"done":     {job.Job{Status: job.Success, Rounds: 1}, "Terminado en 1 ronda", "Done in 1 round", false},
		"half":     {job.Job{Status: job.Partial, Rounds: 4, StopReason: conversation.StopSteps}, "Terminado a medias en 4 rondas: se ha llegado al máximo de pasos", "Ended half done in 4 rounds: it reached its most steps", false},
		"unsure":   {job.Job{Status: job.Partial, Rounds: 4}, "pero puede que falte algo", "but something may be missing", false},
		"lost":     {job.Job{Status: job.Success, Rounds: 2, Lost: 1}, "Terminado en 2 rondas. Se perdió 1 respuesta de su modelo: lo que pudo costar", "Done in 2 rounds. 1 answer of its model was lost: what it may have cost", false},
		"losing":   {job.Job{Status: job.Running, Rounds: 2, Lost: 2}, "Trabaja, ronda 3. Se perdieron 2 respuestas", "Working, round 3. 2 answers of its model were lost", true},
		"failed":   {job.Job{Status: job.Failed, StopReason: conversation.StopBlocked}, "No ha terminado: no se puede usar ningún modelo", "Not done: no model may be used", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
			w.chats["c1"] = conversation.Chat{ID: "c1", UpdatedAt: noon}
			w.messages["c1"] = []conversation.Message{
				{ID: "j1", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "reserva", JobID: "j1", At: noon},
				{ID: "m1", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "seis", JobID: "j1", At: noon},
				{ID: "m2", Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "hecho", JobID: "j1", At: noon},
				{ID: "gone", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "otro", JobID: "gone", At: noon},
			}
			c.job.ID, c.job.Account, c.job.Agent, c.job.ChatID, c.job.Events = "j1", "acc", "build", "c1", 2
			w.jobs["j1"] = c.job
			w.jobEvents["j1"] = []job.Event{
				{Seq: 1, At: noon, Type: job.EventStarted, Data: json.RawMessage(`{"agent":"build"}`)},
				{Seq: 2, At: noon, Type: job.EventRead, Data: json.RawMessage(`{"id":"l1","service":"Salas <b>","method":"GET","url":"https://rooms.example/rooms","status":200}`)},
			}
			for lang, says := range map[string]string{"es": c.es, "en": c.en} {
				r := httptest.NewRequest(http.MethodGet, "/ui/chats/c1", nil)
				r.AddCookie(&http.Cookie{Name: "piloto_lang", Value: lang})
				rec := httptest.NewRecorder()
				w.page.ServeHTTP(rec, r.WithContext(auth.NewContext(r.Context(), ana)))
				body := rec.Body.String()
				if strings.Count(body, `class="line job"`) != 1 || !strings.Contains(body, says) || strings.Contains(body, `data-action="stop-job"`) != c.stop {
					t.Errorf("%s: %s", lang, body)
				}
				if reads := strings.Contains(body, "GET https://rooms.example/rooms"); reads == c.job.Status.Terminal() || strings.Contains(body, "<b>") {
					t.Errorf("what it read: %s", body)
				}
			}
		})
	}
}

// TestAJobIsBegunFollowedAndStopped from the page: it shows each round as it comes, and survives a reload.
func TestAJobIsBegunFollowedAndStopped(t *testing.T) {
	b := open(t, 1280, 900)
	b.asJob()
	b.say("reserva la sala más barata")
	b.see(`.job [data-action="stop-job"]`)
	b.until(`document.querySelectorAll(".line.user").length === 1 && document.querySelector(".job-says").innerText === "Trabaja, ronda 1"`)
	b.world.mu.Lock()
	var id string
	for id = range b.jobs {
		break
	}
	if len(b.jobs) != 1 || len(b.sends) != 0 || b.jobs[id].Agent != "build" {
		t.Errorf("%d jobs, %d messages", len(b.jobs), len(b.sends))
	}
	b.moveJob(id, job.EventRead, map[string]any{"service": "Salas", "method": "GET", "url": roomsURL + "/rooms", "status": 200}, func(*job.Job) {})
	b.moveJob(id, job.EventAnswered, nil, func(j *job.Job) { j.Rounds++ })
	b.world.mu.Unlock()
	b.until(`document.querySelector(".job-says").innerText === "Trabaja, ronda 2" && document.querySelector(".job .sources") !== null`)
	b.click(".job .sources summary")
	b.world.mu.Lock()
	b.moveJob(id, job.EventProposed, nil, func(j *job.Job) { j.Rounds++; j.Status = job.Waiting })
	b.world.mu.Unlock()
	b.until(`document.querySelector(".job-says").innerText.startsWith("Espera") && document.querySelector(".job .sources").open`)
	b.picture("job-waiting")
	before := eval[string](b, `document.getElementById("thread").innerText`)
	b.do(chromedp.Reload())
	b.see(".job")
	b.click(".job .sources summary")
	if after := eval[string](b, `document.getElementById("thread").innerText`); after != before {
		t.Errorf("a reload shows\n%s\ninstead of\n%s", after, before)
	}
	b.dim()
	b.picture("job-waiting-dark")
	b.click(`[data-action="stop-job"]`)
	b.until(`document.querySelector(".job-says").innerText === "Se está parando" && document.querySelector('[data-action="stop-job"]') === null`)
	b.world.mu.Lock()
	b.moveJob(id, job.EventEnded, nil, func(j *job.Job) { j.Status, j.StopReason = job.Partial, conversation.StopPerson })
	b.world.mu.Unlock()
	b.until(`document.querySelector(".job-says").innerText.includes("una persona lo ha parado")`)
	b.picture("job-ended")
}

// asJob has the agent build work on the next message.
func (b *browser) asJob() {
	b.Helper()
	b.click("#message") // the agents are asked for then
	b.until(`document.querySelectorAll("#agent option").length === 2`)
	if eval[bool](b, `document.getElementById("as-job").checkVisibility()`) {
		b.Error("a job without an agent is offered")
	}
	b.do(chromedp.SetValue(chromedp.CSS("#agent"), "build"))
	eval[bool](b, `document.getElementById("agent").dispatchEvent(new Event("change", {bubbles: true}))`)
	b.see("#as-job")
	b.click("#as-job")
}

// TestAQuestionOfAJobIsAnsweredWithTheNextMessage: also when it reads as a yes to a plan, and the choice of a job is still on.
func TestAQuestionOfAJobIsAnsweredWithTheNextMessage(t *testing.T) {
	b := open(t, 1280, 900)
	b.asJob()
	b.say("reserva la sala más barata")
	b.see(".job[data-live]")
	b.world.mu.Lock()
	for id := range b.jobs {
		b.moveJob(id, job.EventAsked, nil, func(j *job.Job) { j.Status, j.Question = job.Waiting, "¿La Sur?" })
	}
	b.world.mu.Unlock()
	b.see(".job[data-asks]")
	b.say("sí")
	b.until(`document.querySelectorAll(".line.user:not(.sending)").length === 2`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.jobs) != 1 || len(b.sends) != 1 || !strings.Contains(b.sends[0], "sí") {
		t.Errorf("%d jobs, and the messages %q", len(b.jobs), b.sends)
	}
}

// TestAJobThatEndedMeanwhileSaysSo at its line, when somebody stops it.
func TestAJobThatEndedMeanwhileSaysSo(t *testing.T) {
	b := open(t, 1280, 900)
	b.world.mu.Lock()
	b.chats["c1"] = conversation.Chat{ID: "c1", UpdatedAt: time.Now()}
	id := b.beginJob("build", "c1", "reserva").ID
	b.world.mu.Unlock()
	b.visit("/?chat=c1")
	b.see(`[data-action="stop-job"]`)
	b.world.mu.Lock()
	j := b.jobs[id]
	j.Status = job.Success
	b.jobs[id] = j // nobody is told
	b.world.mu.Unlock()
	b.click(`[data-action="stop-job"]`)
	b.until(`document.querySelector(".job .problem")?.innerText.includes("ya ha terminado")`)
}

// TestAJobShowsItsRecord: what was done and refused stands by it, whatever its text says.
func TestAJobShowsItsRecord(t *testing.T) {
	j := job.Job{Status: job.Partial, Rounds: 2}
	j.Record.Add("edit_file", job.Deed{Kind: job.DeedChange, Name: "a\u202e.go", Added: 1, AllAdded: 1}, job.Deed{Kind: job.DeedCommand, Name: "rm -rf .", Refused: job.RefusedNobody})
	if says := jobSays(j, "es"); !strings.Contains(says, "se rechazó") {
		t.Error(says)
	}
	var lines []string
	for _, p := range j.Record.Phrases() {
		lines = append(lines, p.In("es"))
	}
	if got := strings.Join(lines, "|"); got != "Editado: a⟦U+202E⟧.go +1 −0|No se hizo: Ejecuta rm -rf .: hay que confirmarlo, y no había nadie" {
		t.Error(got)
	}
}

func TestAJobSaysThatItsTestsFail(t *testing.T) {
	j := job.Job{Status: job.Partial, Rounds: 2}
	j.Record.Add("edit_file", job.Deed{Kind: job.DeedChange, Name: "a.go", Added: 1})
	j.Record.Add("run_command", job.Deed{Kind: job.DeedCommand, Name: "go test ./...", ExitCode: 1})
	if says := jobSays(j, "es"); !strings.Contains(says, "sus pruebas o su compilación fallan") {
		t.Error(says)
	}
}

// TestAJobSaysFailedOfWhatFailed, and not that it was refused.
func TestAJobSaysFailedOfWhatFailed(t *testing.T) {
	j := job.Job{Status: job.Partial, Rounds: 2}
	j.Record.Add("edit_file", job.Deed{Kind: job.DeedChange, Name: "a.go", Failed: true})
	if says := jobSays(j, "es"); strings.Contains(says, "rechazó") || !strings.Contains(says, "falló") {
		t.Error(says)
	}
	if got := j.Record.Phrases(); len(got) != 1 || got[0].In("es") != "No se pudo: Edita a.go" || got[0].In("en") != "Could not be done: Edits a.go" {
		t.Errorf("%+v", got)
	}
	j.Record.Fail("write_files", `{"path":"b.go"}`, job.RefusedTool)
	if says := jobSays(j, "en"); !strings.Contains(says, "refused") {
		t.Error(says)
	}
	if got := j.Record.Phrases(); len(got) != 2 || got[1].In("es") != "No se hizo: write_files b.go: el trabajo no tiene esa herramienta" {
		t.Errorf("%+v", got)
	}
}
