package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// ended checks how a turn ended, in the reply and in the chat.
func (w *world) ended(t *testing.T, reply turn.Reply, kind turn.Kind, status conversation.Status, reason conversation.StopReason) {
	t.Helper()
	gotStatus, gotReason := reply.Ending()
	if reply.Kind != kind || gotStatus != status || gotReason != reason {
		t.Errorf("%s, %s, %s and not %s, %s, %s: %s", reply.Kind, gotStatus, gotReason, kind, status, reason, reply.Message.Content)
	}
	all := w.Messages()
	if stored := all[len(all)-1]; stored.Status != reply.Message.Status || stored.StopReason != reply.Message.StopReason {
		t.Errorf("stored is %s, %s", stored.Status, stored.StopReason)
	}
}

// closing checks that the last request is a closing call: it may call no tool, although the prompt begins with the turn's own, and
// says why.
func (w *world) closing(t *testing.T, why string) {
	t.Helper()
	r := w.model.asked[len(w.model.asked)-1]
	if last := r.Messages[len(r.Messages)-1]; !r.NoCalls || toolsOf(r) != toolsOf(w.model.asked[0]) || last.Role != llm.System || !strings.HasPrefix(last.Content, "[SYSTEM]") || !strings.Contains(last.Content, why) {
		t.Errorf("no closing call: %v, %s, %+v", r.NoCalls, toolsOf(r), last)
	}
}

func (w *world) looksAt(n int) llm.Reply {
	return calls("look", lookAt(w.Server.ID, fmt.Sprintf("/bookings/%d", n)))
}

// TestATurnThatEndsEarlySaysWhatItReadAndWhatIsOpen: with the model's last words, and without them from the record.
func TestATurnThatEndsEarlySaysWhatItReadAndWhatIsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		rounds []any
		reason conversation.StopReason
		why    string // for the model
		told   string // to the person
	}{
		"max_steps": {[]any{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, conversation.StopSteps, "most steps of one answer", "máximo de pasos"},
		"llm_error": {[]any{0, llm.ErrUnreachable}, conversation.StopModel, "stopped answering", "ha dejado de responder"},
	} {
		begin := func() *world {
			w := newLookWorld(t)
			for _, round := range c.rounds {
				if n, ok := round.(int); ok {
					round = w.looksAt(n)
				}
				w.model.answers = append(w.model.answers, round)
			}
			return w
		}
		w := begin()
		w.model.answers = append(w.model.answers, text("Leí las salas; falta reservar."))
		reply := w.send(t, "reserva")
		w.ended(t, reply, turn.KindMessage, conversation.Partial, c.reason)
		w.closing(t, c.why)
		if reply.Message.Content != "Leí las salas; falta reservar." || len(reply.Message.Sources) == 0 {
			t.Errorf("%s: %+v", name, reply.Message)
		}
		w = begin()
		w.model.answers = append(w.model.answers, llm.ErrRefused)
		reply = w.send(t, "reserva")
		w.ended(t, reply, turn.KindNotice, conversation.Partial, c.reason)
		if got := reply.Message.Content; !strings.Contains(got, c.told) || !strings.Contains(got, "\n- Salas: GET "+w.Server.BaseURL+"/bookings/0") || len(reply.Message.Sources) == 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestATurnWithoutAnAnswerSaysHowItEnded: where nothing was read there is little to say.
func TestATurnWithoutAnAnswerSaysHowItEnded(t *testing.T) {
	w := newLookWorld(t, llm.ErrUnreachable)
	w.ended(t, w.send(t, "hola"), turn.KindBlocked, conversation.Failed, conversation.StopBlocked)

	for _, nothing := range []string{"", " \n", "\u200b\u2060", "\ufeff", "\u3164"} {
		w = newLookWorld(t, text(nothing), text(nothing))
		reply := w.send(t, "hola")
		w.ended(t, reply, turn.KindNotice, conversation.Failed, conversation.StopModel)
		if !strings.Contains(reply.Message.Content, "no ha respondido nada") {
			t.Errorf("%+q: %s", nothing, reply.Message.Content)
		}
	}

	w = newLookWorld(t)
	w.model.answers = []any{w.looksAt(0), text(""), text("Hay una reserva.")}
	w.ended(t, w.send(t, "hola"), turn.KindMessage, conversation.Partial, conversation.StopModel)

	w = newLookWorld(t)
	w.model.answers = []any{w.looksAt(0), text(""), text("")}
	reply := w.send(t, "hola")
	w.ended(t, reply, turn.KindNotice, conversation.Partial, conversation.StopModel)
	if !strings.Contains(reply.Message.Content, "- Salas: GET ") {
		t.Error(reply.Message.Content)
	}

	w = newLookWorld(t, text("hola"))
	w.ended(t, w.send(t, "hola"), turn.KindMessage, conversation.Success, "")
	w.model.answers = []any{calls("mcp_request", w.request("GET", "/rooms", ""))}
	w.ended(t, w.send(t, "salas"), turn.KindPlan, conversation.Success, "")

	w = newWorldWith(t, smallWindow("gpt-3.5-turbo", "llama-3.1-8b-instant"))
	reply = w.send(t, strings.Repeat("áéíóú", 3200)) // 32 KB
	w.ended(t, reply, turn.KindNotice, conversation.Failed, conversation.StopContext)
	if len(w.model.asked) != 0 || !strings.Contains(reply.Message.Content, "no cabe en el modelo") {
		t.Errorf("%d calls, %s", len(w.model.asked), reply.Message.Content)
	}
}

// TestATurnWhoseTimeIsOverCloses: what was read is not lost because the model is slow.
func TestATurnWhoseTimeIsOverCloses(t *testing.T) {
	w := newLookWorld(t)
	w.service.Limits.Model = time.Second
	var closing llm.Request
	last := models(func(_ context.Context, r llm.Request) (llm.Reply, error) {
		closing = r
		return text("Leí una reserva."), nil
	})
	w.service.Paid.Models = providers{&turns{[]llm.Model{&script{answers: []any{w.looksAt(0)}}, silent, last}}}
	reply := w.send(t, "¿qué reservas hay?")
	w.ended(t, reply, turn.KindMessage, conversation.Partial, conversation.StopTime)
	if reply.Message.Content != "Leí una reserva." || !closing.NoCalls {
		t.Errorf("%+v", reply.Message)
	}
}

// TestTheRecordSaysWhatIsOpenAndWhatWaits: what the chat has is told, although the model tells nothing.
func TestTheRecordSaysWhatIsOpenAndWhatWaits(t *testing.T) {
	w := newLookWorld(t)
	w.proposeDraft(t, bookNorth)
	w.model.answers = []any{w.looksAt(0), calls("mcp_request", w.request("GET", "/nothing", "")), text(""), llm.ErrRefused}
	got := w.send(t, "mira más").Message.Content
	for _, says := range []string{"- Salas: GET ", "No he podido preparar el plan: path: el servicio no tiene la operación", "sigue esperando una confirmación"} {
		if !strings.Contains(got, says) {
			t.Errorf("%q is not in %s", says, got)
		}
	}
	w = newLookWorld(t)
	if err := w.Confirm(w.proposeDraft(t, bookNorth)); err != nil {
		t.Fatal(err)
	}
	w.model.answers = []any{w.looksAt(0), text(""), llm.ErrRefused}
	if got := w.send(t, "mira más").Message.Content; !strings.Contains(got, "está en marcha") {
		t.Error(got)
	}
}

type models func(context.Context, llm.Request) (llm.Reply, error)

// Complete implements llm.Model.
func (m models) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) { return m(ctx, r) }

// TestTheClosingCallIsInTheBudget: whatever the limit of a turn is, it is not exceeded, and a turn that read something says so.
func TestTheClosingCallIsInTheBudget(t *testing.T) {
	closed, answered := 0, 0
	for limit := int64(200); limit < 40_000; limit += limit / 3 {
		w := newWorldWith(t, paidDeployment())
		w.letLook(t)
		w.grant(t, 10)
		w.setTerms(t, credit.DefaultPolicy(), credit.Limits{Run: limit})
		why := ""
		w.service.Paid.Models = providers{models(func(_ context.Context, r llm.Request) (llm.Reply, error) {
			reply := text("Leí algo.")
			why = r.Messages[len(r.Messages)-1].Content
			if !r.NoCalls {
				reply = w.looksAt(len(r.Messages))
			}
			reply.Usage = llm.Usage{Input: r.Estimate(), Output: r.MaxTokens} // the most that was held
			return reply, nil
		})}
		reply := w.send(t, "reserva")
		record := w.turns(t)[0]
		if record.Micros > limit {
			t.Errorf("a limit of %d, and %d were used", limit, record.Micros)
		}
		status, reason := reply.Ending()
		switch {
		case reply.Kind == turn.KindBlocked && record.Micros == 0: // the first call was too dear
		case reply.Kind == turn.KindMessage && status == conversation.Partial && reason == conversation.StopBudget:
			closed++
			if !strings.Contains(why, "The limit per answer or run is 0.") {
				t.Errorf("the model is not told how much is missing: %s", why)
			}
		case reply.Kind == turn.KindMessage && reason == conversation.StopSteps:
			answered++
		case reply.Kind == turn.KindNotice && status == conversation.Partial && reason == conversation.StopBudget: // the first call alone was affordable
		default:
			t.Errorf("a limit of %d: %s, %s, %s after %d", limit, reply.Kind, status, reason, record.Micros)
		}
	}
	if closed == 0 || answered == 0 {
		t.Errorf("%d turns closed, %d went on to the end", closed, answered)
	}
}
