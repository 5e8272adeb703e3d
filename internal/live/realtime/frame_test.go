package realtime_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
)

// TestPushesHaveTheirWireFormat checks the wire format that clients depend on.
func TestPushesHaveTheirWireFormat(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 120_000_000, time.UTC)
	m := conversation.Message{ID: "m1", Seq: "never shown", Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "a < b & c", At: at}
	e := plan.Event{Seq: 3, At: at, Type: plan.EventStarted, After: plan.Running, StepID: plan.EffectOf("s1"), Data: []byte(`{"n":12345678901234567890}`)}
	for want, event := range map[string]realtime.Event{
		`{"type":"message","seq":1,"at":"2026-03-02T09:00:00.120Z","data":{"conversationId":"c1","message":{"id":"m1","role":"assistant","kind":"text","content":"a < b & c","at":"2026-03-02T09:00:00.12Z"}}}`:                                                   realtime.Message("c1", m),
		`{"type":"run","seq":1,"at":"2026-03-02T09:00:00.120Z","data":{"conversationId":"c1","event":{"seq":3,"at":"2026-03-02T09:00:00.12Z","type":"run.started","step_id":"s1","data":{"n":12345678901234567890},"hash":""},"run_id":"r1","status":"running"}}`: realtime.Run(plan.Run{ChatID: "c1", ID: "r1"}, e),
		`{"type":"run","seq":1,"at":"2026-03-02T09:00:00.120Z","data":{"conversationId":"c1","run_id":"r1","status":"running"}}`:                                                                                                                                  realtime.Moved(plan.Run{ChatID: "c1", ID: "r1", Status: plan.Running}),
		`{"type":"ai:execution_blocked","seq":1,"at":"2026-03-02T09:00:00.120Z","data":{"action":"do","conversationId":"c1","message":"why","reason":"no_api_key"}}`:                                                                                              realtime.Said("c1", conversation.Message{Kind: conversation.KindBlocked, Code: "no_api_key", Content: "why", Action: "do"})[1],
		`{"type":"ai:text","at":"2026-03-02T09:00:00.120Z","data":{"conversationId":"c1","offset":0,"text":"Hola","turn":"t1"}}`:                                                                                                                                  realtime.Answer{ChatID: "c1", Turn: "t1"}.Text(0, "Hola"),
		`{"type":"ai:text_reset","at":"2026-03-02T09:00:00.120Z","data":{"conversationId":"c1","turn":"t1"}}`:                                                                                                                                                     realtime.Answer{ChatID: "c1", Turn: "t1"}.Reset(),
		`{"type":"ai:text_end","at":"2026-03-02T09:00:00.120Z","data":{"conversationId":"c1","turn":"t1"}}`:                                                                                                                                                       realtime.Answer{ChatID: "c1", Turn: "t1"}.End(),
	} {
		store, o := fixture.Table(t), newFakePoster("a")
		connect(t, store.Access, "acme", "a")
		h := hub(store.Access, o, at)
		h.Notify(ctx, "acme", event)
		if len(o.boxes["a"]) != 1 {
			t.Fatalf("%d pushes of %s", len(o.boxes["a"]), event.Type)
		}
		if got := string(o.boxes["a"][0]); got != want {
			t.Errorf("\n%s, want\n%s", got, want)
		}
	}
}

// TestPushFitsOneFrame: sizes around API Gateway's limits, with text of one,
// three and six bytes per character.
func TestPushFitsOneFrame(t *testing.T) {
	store, o := fixture.Table(t), newFakePoster("a")
	connect(t, store.Access, "acme", "a")
	h := hub(store.Access, o, now)
	for _, size := range []int{0, 1 << 10, 27 << 10, 28 << 10, 31 << 10, 32 << 10, 33 << 10, 128 << 10, 1 << 20} {
		for name, letter := range map[string]string{"ascii": "a", "euro": "€", "control": "\x01", "html": "<"} {
			text := strings.Repeat(letter, size/len(letter))
			m := conversation.Message{ID: "m1", Role: conversation.RoleUser, Kind: conversation.KindText, Content: text, RunID: "r1", At: now}
			h.Notify(ctx, "acme", realtime.Message("c1", m),
				realtime.Run(plan.Run{ChatID: "c1", ID: "r1"}, plan.Event{Seq: 7, After: plan.Running, Data: encodeJSON(t, text)}))
			for _, raw := range o.boxes["a"] {
				if len(raw) > realtime.MaxFrame {
					t.Errorf("%s of %d: %d bytes", name, size, len(raw))
				}
			}
			list := o.box(t, "a")
			if len(list) != 2 {
				t.Fatalf("%s of %d: %d pushes", name, size, len(list))
			}
			message, _ := list[0].Data["message"].(map[string]any)
			large := list[0].Data["large"] == true
			if large == (message != nil) || !large && message["content"] != text {
				t.Errorf("%s of %d: %v", name, size, list[0].Data)
			}
			// A character that JSON escapes takes six bytes.
			if written := len(encodeJSON(t, text)); (written < 27<<10 && large) || (written > 28<<10 && !large) {
				t.Errorf("%s of %d (%d written): large is %v", name, size, written, large)
			}
			if large {
				want := map[string]any{"conversationId": "c1", "run_id": "r1", "message_id": "m1", "large": true}
				if d := cmp.Diff(want, list[0].Data); d != "" {
					t.Error(d)
				}
			}
			if list[1].Data["large"] == true {
				want := map[string]any{"conversationId": "c1", "run_id": "r1", "status": "running", "event_seq": 7.0, "large": true}
				if d := cmp.Diff(want, list[1].Data); d != "" {
					t.Error(d)
				}
			}
		}
	}
}

func TestUnencodableEventDoesNotBlockOthers(t *testing.T) {
	store, o := fixture.Table(t), newFakePoster("a")
	connect(t, store.Access, "acme", "a")
	hub(store.Access, o, now).Notify(ctx, "acme",
		realtime.Event{Type: "odd", Data: make(chan int)}, realtime.Event{Type: "list", Data: []int{1}},
		realtime.Event{Type: "null", Data: (*int)(nil)}, realtime.Event{Type: "plain", ChatID: "c1"})
	list := o.box(t, "a")
	if len(list) != 1 || list[0].Type != "plain" || *list[0].Seq != 1 || list[0].Data["conversationId"] != "c1" {
		t.Errorf("%+v", list)
	}
}

func TestBlockedEventHasActionOfMessage(t *testing.T) {
	m := conversation.Message{Kind: conversation.KindBlocked, Code: "no_api_key", Content: "No hay clave.", Action: "Pon una."}
	events := realtime.Said("c1", m)
	if len(events) != 2 || events[1].Type != realtime.TypeBlocked {
		t.Fatalf("%+v", events)
	}
	data := events[1].Data.(map[string]any)
	if data["reason"] != m.Code || data["message"] != m.Content || data["action"] != m.Action {
		t.Errorf("%v", data)
	}
	if events := realtime.Said("c1", conversation.Message{Kind: conversation.KindBlocked}); len(events) != 1 {
		t.Errorf("a block without a reason: %+v", events)
	}
}

// encodeJSON encodes a text as JSON without escapes for the characters of HTML.
func encodeJSON(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
