package talk

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/console/consoletest"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// TestWhatContradictsATextIsPrintedBeforeIt, on stdout with it, and in yellow at a terminal. Other notes follow on stderr.
func TestWhatContradictsATextIsPrintedBeforeIt(t *testing.T) {
	answer := httpapi.SendAnswer{
		Kind:   turn.KindMessage,
		Before: []wire.Message{{Content: "Primero.", Notes: []conversation.Note{{Code: conversation.NoteNothingDone, Text: "Nada\nhecho.\x1b[2J"}}}},
		Message: wire.Message{Content: "Después\n\x1b[2J\r\u202e.", Notes: []conversation.Note{
			{Code: conversation.NoteCost, Text: "Ha costado."}, {Code: conversation.NoteNotInResults, Text: "No está: 7."}, {Code: conversation.NoteInDoubt, Text: "No se sabe."},
		}},
	}
	for _, coloured := range []bool{false, true} {
		con, out, errOut := consoletest.New(nil, "")
		con.Tag, con.Colour, con.IsTerm = locale.Spanish, coloured, coloured
		if err := newGroup(con).printAnswer(answer); err != nil {
			t.Fatal(err)
		}
		want := "! Aviso: Nada hecho.⟦U+001B⟧[2J\nPrimero.\n! Aviso: No está: 7.\n! Aviso: No se sabe.\nDespués\n⟦U+001B⟧[2J⟦U+000D⟧⟦U+202E⟧.\n"
		if plain := strings.NewReplacer("\x1b[33m", "", "\x1b[0m", "").Replace(out.String()); plain != want || strings.Count(out.String(), "\x1b[33m! ") != map[bool]int{true: 3}[coloured] {
			t.Errorf("%q", out.String())
		}
		if errOut.String() != "! Ha costado.\n" {
			t.Errorf("%q", errOut.String())
		}
	}
	con, out, _ := consoletest.New(nil, "")
	con.Tag = locale.Spanish
	answer.Message.Content, answer.Before = "", nil // it was streamed
	if err := newGroup(con).printAnswer(answer); err != nil || out.String() != "! Aviso: No está: 7.\n! Aviso: No se sabe.\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// typist types a line at each read: input from before a question is dropped.
type typist struct{ lines []string }

func (p *typist) Read(to []byte) (int, error) {
	if len(p.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.lines[0]+"\n")
	p.lines = p.lines[1:]
	return n, nil
}

// TestThePlanThatWaitsIsOfferedAfterAText: by its name, and whole unless it was printed before. A text in place of a
// decision is the next message.
func TestThePlanThatWaitsIsOfferedAfterAText(t *testing.T) {
	draft := httpapi.Run{RunID: "01A", ChatID: "01C", Goal: "Reservar\u202e la sala", Status: plan.Draft, Digest: plan.Digest(strings.Repeat("ab", 32))}
	other := draft
	other.Digest = plan.Digest(strings.Repeat("cd", 32))
	said := func(kind turn.Kind, r *httpapi.Run) httpapi.SendAnswer {
		v := httpapi.SendAnswer{Kind: kind, Chat: conversation.Chat{ID: "01C"}, Message: wire.Message{Content: "Bien."}, Run: r}
		if kind == turn.KindMessage {
			v.Run, v.Pending = nil, r
		}
		return v
	}
	for name, c := range map[string]struct {
		typed   []string
		answers []httpapi.SendAnswer
		sent    string // messages, and the digests that were confirmed
		shown   int    // times that the plan was printed
	}{
		"after its card": {[]string{"reserva", "pues vale, hazlo", "y", "/quit"}, []httpapi.SendAnswer{said(turn.KindPlan, &draft), said(turn.KindMessage, &draft)}, "reserva|pues vale, hazlo|confirm abab", 1},
		"of before":      {[]string{"hola", "y", "/quit"}, []httpapi.SendAnswer{said(turn.KindMessage, &draft)}, "hola|confirm abab", 1},
		"another by now": {[]string{"reserva", "cámbialo tú", "y", "/quit"}, []httpapi.SendAnswer{said(turn.KindPlan, &draft), said(turn.KindMessage, &other)}, "reserva|cámbialo tú|confirm cdcd", 2},
		"nobody decides": {[]string{"hola", "", "adiós", "/quit"}, []httpapi.SendAnswer{said(turn.KindMessage, &draft), said(turn.KindMessage, nil)}, "hola|adiós", 1},
		"no plan waits":  {[]string{"hola", "y"}, []httpapi.SendAnswer{said(turn.KindMessage, nil)}, "hola|y", 0},
		"it leaves":      {[]string{"hola", "/quit"}, []httpapi.SendAnswer{said(turn.KindMessage, &draft)}, "hola", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			left := c.answers
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				var body struct{ Message, Digest string }
				_ = json.Unmarshal(raw, &body)
				var v any = draft
				switch {
				case r.URL.Path == "/api/send":
					sent, v = append(sent, body.Message), said(turn.KindMessage, nil)
					if len(left) > 0 {
						v, left = left[0], left[1:]
					}
				case strings.HasSuffix(r.URL.Path, "/confirm"):
					sent, v = append(sent, "confirm "+body.Digest[:4]), httpapi.RunAnswer{Run: draft}
				case r.Method == http.MethodGet:
					v = httpapi.Run{RunID: "01A", Status: plan.Done, Goal: draft.Goal}
				}
				_ = json.NewEncoder(w).Encode(v)
			}))
			defer s.Close()
			con, _, errOut := consoletest.New(nil, "")
			con.In, con.Asks, con.Tag = bufio.NewReader(&typist{c.typed}), true, locale.Spanish
			_ = newGroup(con).converse(t.Context(), client.New(client.Target{Origin: s.URL, Token: "token"}, "es"), httpapi.SendRequest{ChatID: "01C"})
			told := errOut.String()
			if got := strings.Join(sent, "|"); got != c.sent {
				t.Errorf("it sent %q:\n%s", got, told)
			}
			texts := 0
			for _, v := range c.answers {
				if v.Pending != nil {
					texts++
				}
			}
			if n := strings.Count(told, "Sigue esperando: «Reservar⟦U+202E⟧ la sala»."); n != texts {
				t.Errorf("it was named %d times:\n%s", n, told)
			}
			if shown := strings.Count(told, "\nReservar⟦U+202E⟧ la sala\n"); shown+strings.Count(told, "> Reservar⟦U+202E⟧ la sala\n") > c.shown {
				t.Errorf("it was printed %d times:\n%s", shown, told)
			}
		})
	}
}

// TestAConversationSaysHowToLeaveIt to a person at the terminal alone, in their language.
func TestAConversationSaysHowToLeaveIt(t *testing.T) {
	for tag, leave := range map[locale.Tag]string{locale.Spanish: "Para salir: /salir o Ctrl-D.", locale.English: "To leave: /quit or Ctrl-D."} {
		for _, asks := range []bool{true, false} {
			for _, word := range []string{"/quit", "/salir", " /salir "} {
				con, _, errOut := consoletest.New(nil, "")
				con.In, con.Asks, con.Tag = bufio.NewReader(&typist{[]string{word, "y más"}}), asks, tag
				if err := newGroup(con).converse(t.Context(), client.New(client.Target{Origin: "http://127.0.0.1:1", Token: "t"}, string(tag)), httpapi.SendRequest{ChatID: "01C"}); err != nil {
					t.Errorf("%s %s: %v", tag, word, err)
				}
				if strings.Contains(errOut.String(), leave) != asks {
					t.Errorf("%s, at a terminal %v: %q", tag, asks, errOut)
				}
			}
		}
	}
}

// newGroup returns the commands of a console.
func newGroup(con *console.Console) *Group {
	d := &reach.Deployment{Con: con, Folders: &reach.Folders{Con: con}}
	return &Group{Con: con, Deployment: d, Runs: &runs.Group{Con: con, Deployment: d}}
}
