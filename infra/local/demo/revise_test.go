package demo

import (
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

const waiting = `
<draft>
{"goal":"Reserva","steps":[{"id":"s1","mcp_id":"m1","method":"GET","path":"/rooms","query":{"capacity":6,"free_on":"2026-11-21","start":"10:00","end":"11:30"}},{"id":"s2","mcp_id":"m1","method":"POST","path":"/reservations","body":{"room_id":"${s1.body.items[0].id}","date":"2026-11-21","start":"10:00","end":"11:30","people":6},"needs":["s1"],"verify":{"method":"GET","path":"/reservations","expect":{"value":"${check.status}","is":"equal","to":200}}}]}
</draft>`

func TestModelRevisesWaitingPlan(t *testing.T) {
	c := client(t)
	tools := append([]openai.Tool{newTool(toolRevise)}, offered...)
	for message, want := range map[string][]string{
		"cambia la fecha al martes":   {`"free_on":"2026-11-24"`, `"date":"2026-11-24"`, `"start":"10:00"`, `"people":6`, `"verify":{`},
		"mejor a las 12":              {`"start":"12:00"`, `"end":"13:30"`, `"date":"2026-11-21"`},
		"que sea para 8 personas":     {`"capacity":8`, `"people":8`, `"room_id":"${s1.body.items[0].id}"`},
		"a las 11":                    {`"start":"11:00"`, `"end":"12:30"`, `"people":6`},
		"el lunes mejor":              {`"date":"2026-11-23"`, `"free_on":"2026-11-23"`},
		"make it 8 people":            {`"capacity":8`, `"people":8`},
		"mejor la sala sur":           {`"room_id":"sur"`, `"start":"10:00"`},
		"change it to Monday at 9:00": {`"date":"2026-11-23"`, `"start":"09:00"`, `"end":"10:30"`},
	} {
		prompt := system(t)
		prompt.Content += waiting
		answer, err := c.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: ModelName, Tools: tools, Messages: transcript(t, []openai.ChatCompletionMessage{prompt, {Role: "user", Content: message}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		reply := answer.Choices[0].Message
		if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Function.Name != toolRevise {
			t.Errorf("%s: %s", message, show(reply))
			continue
		}
		for _, piece := range want {
			if !strings.Contains(reply.ToolCalls[0].Function.Arguments, piece) {
				t.Errorf("%s: no %s in %s", message, piece, reply.ToolCalls[0].Function.Arguments)
			}
		}
	}
}

// A change may choose a row of what was read.
func TestModelRevisesWaitingPlanByARow(t *testing.T) {
	prompt := looking(t)
	prompt.Content += strings.ReplaceAll(waiting, "${s1.body.items[0].id}", "norte")
	for message, room := range map[string]string{"mejor la más barata": "sur", "mejor la última": "oeste", "the largest one instead": "oeste"} {
		answer, err := client(t).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: ModelName, Tools: append([]openai.Tool{newTool(toolRevise), newTool(toolLook)}, offered...),
			Messages: transcript(t, []openai.ChatCompletionMessage{prompt, {Role: "user", Content: message}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := show(answer.Choices[0].Message); !strings.HasPrefix(got, toolRevise) || !strings.Contains(got, `"room_id": "`+room+`"`) {
			t.Errorf("%s: %s", message, got)
		}
	}
}

func TestModelMakesNewPlanForOtherRequest(t *testing.T) {
	c := client(t)
	prompt := system(t)
	prompt.Content += waiting
	for _, message := range []string{"Cancela la reserva r-3", "Cancela r-3", "¿Qué salas hay?", "¿Qué tiempo hace mañana?", "Gracias", "Cambia la reserva r-2 a las 12"} {
		answer, err := c.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: ModelName, Tools: append([]openai.Tool{newTool(toolRevise)}, offered...), Messages: transcript(t, []openai.ChatCompletionMessage{prompt, {Role: "user", Content: message}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := show(answer.Choices[0].Message); strings.HasPrefix(got, toolRevise) {
			t.Errorf("%s: %s", message, got)
		}
	}
}
