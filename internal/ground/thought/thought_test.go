package thought_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/ground/thought"
)

var texts = []struct{ name, text, want string }{
	{"none", "Hola < 3 [x] `a`", "Hola < 3 [x] `a`"},
	{"a thought", "<think>\nsecreto\n</think>\n\nHola", "Hola"},
	{"other names", "<thought>secreto</thought>a <thinking>secreto</thinking>b <reasoning>secreto</reasoning>c [THINK]secreto[/THINK]d", "a b c d"},
	{"upper case and attributes", "<THINK type=\"x\">secreto</Think >Hola", "Hola"},
	{"two", "a<think>secreto</think>b<think>secreto</think>c", "abc"},
	{"one inside of another", "<think>secreto <think> secreto</think>secreto</think>Hola", "Hola"},
	{"two open and one closed", "<think>secreto <think>secreto</think>Hola", "Hola"},
	{"two open and none closed", "Hola<think>secreto <think>secreto", "Hola"},
	{"a lone end", "secreto\n</think>\nHola", "Hola"},
	{"an end that is thought of", "<think>secreto `</think>` secreto</think>Hola", "Hola"},
	{"an empty one", "a<think/>b", "ab"},
	{"a span of code", "Escribe `<think>` y `` a`</think> `` así", "Escribe `<think>` y `` a`</think> `` así"},
	{"a fence", "Así:\n```xml\n<think>a</think>\n```\nya", "Así:\n```xml\n<think>a</think>\n```\nya"},
	{"a fence of tildes in a fence", "~~~\n```\n<think>a</think>\n~~~\n<think>secreto</think>ya", "~~~\n```\n<think>a</think>\n~~~\nya"},
	{"a span that looks like a fence", "```a``` <think>secreto</think>ya", "```a``` ya"},
	{"a lone backtick", "Usa ` así <think>secreto</think>\nya ` b", "Usa ` así \nya ` b"},
	{"another tag", "<thinker>a</thinker> <think-about>b <thin c", "<thinker>a</thinker> <think-about>b <thin c"},
	{"of Gemma", "<|channel>thought\nsecreto<channel|>Hola", "Hola"},
	{"of Seed", "<seed:think>secreto</seed:think>Hola", "Hola"},
	{"messages", "<|channel|>analysis<|message|>secreto <a> secreto<|end|><|start|>assistant<|channel|>final<|message|>Hola<|return|>", "Hola"},
	{"messages without ends", "<|channel|>analysis<|message|>secreto<|start|>assistant<|channel|>final<|message|>Hola", "Hola"},
	{"messages, the first without its head", "secreto<|end|><|start|>assistant<|channel|>final<|message|>Hola", "Hola"},
	{"a message for a person before others", "<|start|>assistant<|channel|>commentary<|message|>Miro.<|end|><|channel|>analysis<|message|>secreto</think>secreto<|end|>", "Miro."},
	{"a message for a tool", "<|channel|>commentary to=functions.x <|constrain|>json<|message|>{secreto}<|call|>", ""},
	{"a message for a tool in the head", "<|start|>assistant to=python<|channel|>analysis<|message|>secreto", ""},
	{"a message that was cut", "Hola<|channel|>analysis<|message|>secreto<|end|><|start|>assist", "Hola"},
	{"a sign that stands alone", "a <|end|> b <|chan <|start|> c <|channel|>de", "a <|end|> b <|chan <|start|> c <|channel|>de"},
	{"a sign in code", "Usa `<|channel|>analysis<|message|>` así", "Usa `<|channel|>analysis<|message|>` así"},
	{"a comparison", "a <think < b", "a <think < b"},
}

func TestThoughtsAreTakenOut(t *testing.T) {
	for _, c := range texts {
		if got := thought.Without(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// read returns what a reader shows of a text that arrives in parts, and what it ever showed.
func read(parts []string, blocks ...thought.Block) (shown, ever string) {
	var now, all strings.Builder
	r := thought.Reader{Drop: now.Reset, Blocks: blocks, Block: func(_ thought.Block, inner string) bool { return strings.HasPrefix(inner, "{") }}
	r.Text = func(s string) { now.WriteString(s); all.WriteString(s) }
	for _, p := range parts {
		r.Write(p)
	}
	r.End()
	return now.String(), all.String()
}

// TestAThoughtIsFoundHoweverItIsCut: into whichever parts a text is cut, the same is shown, and nothing else ever was. Only
// the beginning of a thought whose opening tag is missing cannot be known.
func TestAThoughtIsFoundHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(texts).Draw(t, "text")
		var parts []string
		for rest := c.text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		shown, ever := read(parts)
		if strings.TrimSpace(shown) != c.want {
			t.Fatalf("%s: %q, want %q", c.name, shown, c.want)
		}
		if lone := c.name == "a lone end" || c.name == "one inside of another" || c.name == "two open and one closed" || c.name == "messages, the first without its head"; !lone && strings.Contains(ever, "secreto") {
			t.Fatalf("%s showed %q", c.name, ever)
		}
	})
}

func TestABlockIsTakenOrStaysText(t *testing.T) {
	blocks := []thought.Block{{Open: "<call>", Close: "</call>"}, {Open: "[CALLS]"}}
	for text, want := range map[string]string{
		`a<call>{"x":1}</call>b`:                "ab",
		`a<call>no</call>b<think>c</think>`:     `a<call>no</call>b`,
		`a[CALLS]{"x":1}`:                       "a",
		`a[CALLS]no<think>secreto</think>b`:     "a[CALLS]nob",
		"`<call>{}</call>`<call>{}</call>":      "`<call>{}</call>`",
		"<call>{\"a\":\"<think>\"}":             "",
		"<call>no <call>{}</call> b":            "<call>no  b",
		strings.Repeat("<call>", 100) + "final": strings.Repeat("<call>", 100) + "final",
	} {
		for _, parts := range [][]string{{text}, strings.Split(text, "")} {
			if got, _ := read(parts, blocks...); got != want {
				t.Errorf("%q in %d parts: %q, want %q", text, len(parts), got, want)
			}
		}
	}
}

func TestALongThoughtIsReadAtOnce(t *testing.T) {
	long := strings.Repeat("secreto < [ ` y más\n", 200<<10/20)
	if shown, _ := read(strings.SplitAfter("<think>"+long+"<think>"+long, " ")); shown != "" {
		t.Errorf("%.80q", shown)
	}
	for _, sign := range []string{"<", "`", "~", "<think ", "[TH", "\n"} {
		read([]string{strings.Repeat(sign, 200<<10)}, thought.Block{Open: "<call>", Close: "</call>"})
	}
}

// TestSignsMeanTheSameHoweverTheyAreCut: of a text of any signs in any order.
func TestSignsMeanTheSameHoweverTheyAreCut(t *testing.T) {
	signs := []string{
		"<|channel|>", "<|start|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "analysis", "final", "commentary", " to=functions.x ", "assistant",
		"<|channel>thought", "<channel|>", "<think>", "</think>", "[THINK]", "<call>", "{}", "</call>", "`", "```", "\n", "hola ", "<|", "<",
	}
	block := thought.Block{Open: "<call>", Close: "</call>"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(signs), 0, 14).Draw(t, "signs"), "")
		whole, _ := read([]string{text}, block)
		if cut, _ := read(strings.Split(text, ""), block); cut != whole {
			t.Fatalf("%q is %q, and in pieces %q", text, whole, cut)
		}
	})
}
