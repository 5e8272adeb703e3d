package llm_test

import (
	"encoding/json"
	"os"
	"testing"

	"piloto/internal/models/llm"
)

// sample is a text with its number of tokens in several tokenizers.
type sample struct {
	Name, Text string
	Tokens     map[string]int
}

func (s sample) most() int {
	most := 0
	for _, n := range s.Tokens {
		most = max(most, n)
	}
	return most
}

// samples returns texts counted with cl100k and o200k (gpt-tokenizer 2.9.0), the Llama 2 and 3 tokenizers and
// Mistral's first one.
func samples(t testing.TB) []sample {
	t.Helper()
	raw, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := json.Unmarshal(raw, &all); err != nil || len(all) < 40 {
		t.Fatalf("%d samples, %v", len(all), err)
	}
	return all
}

func TestAnEstimateIsNeverLessThanATokenizerCounts(t *testing.T) {
	for _, s := range samples(t) {
		if got, real := llm.EstimateText(s.Text), s.most(); got < real {
			t.Errorf("%s: estimated %d of %d %v", s.Name, got, real, s.Tokens)
		} else {
			t.Logf("%-12s %4d of %4d (%.2f)", s.Name, got, real, float64(got)/float64(real))
		}
	}
}

func TestAnEstimateOfProseIsAtMostTwiceTheCount(t *testing.T) {
	for _, s := range samples(t) {
		switch s.Name {
		case "spanish", "english", "german", "portuguese", "go", "python", "schema", "pretty":
			if got, real := llm.EstimateText(s.Text), s.most(); got > 2*real {
				t.Errorf("%s: estimated %d of %d", s.Name, got, real)
			}
		}
	}
}

func TestTheEstimateOfARequestCountsAllOfIt(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)
	base := llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "hola"}}}
	smallest := base.Estimate()
	for name, more := range map[string]llm.Request{
		"a message":   {Messages: append(base.Messages[:1:1], llm.Message{Role: llm.Assistant})},
		"a text":      {Messages: []llm.Message{{Role: llm.User, Content: "hola, y algo más"}}},
		"a call":      {Messages: []llm.Message{{Role: llm.User, Content: "hola", Calls: []llm.Call{{Name: "f"}}}}},
		"its answer":  {Messages: []llm.Message{{Role: llm.User, Content: "hola", CallID: "call_1"}}},
		"a tool":      {Messages: base.Messages, Tools: []llm.Tool{{Name: "weather", Parameters: schema}}},
		"a format":    {Messages: base.Messages, Format: &llm.Format{Name: "decision", Schema: schema}},
		"a statement": {Messages: base.Messages, Tools: []llm.Tool{{Name: "weather"}}},
	} {
		if got := more.Estimate(); got <= smallest {
			t.Errorf("%s is not counted: %d, without it %d", name, got, smallest)
		}
	}
	format := llm.Request{Messages: base.Messages, Format: &llm.Format{Name: "weather", Schema: schema}}
	tool := llm.Request{Messages: base.Messages, Tools: []llm.Tool{{Name: "weather", Parameters: schema}}}
	if got, most := format.Estimate(), tool.Estimate(); got != most {
		t.Errorf("a format is %d tokens, and as the tool it may be sent as %d", got, most)
	}
	tool.Format = format.Format
	if got := tool.Estimate(); got != format.Estimate() {
		t.Errorf("with tools that are not sent a format is %d tokens, without them %d", got, format.Estimate())
	}
	if empty := (llm.Reply{}).Estimate(); empty != 0 {
		t.Errorf("nothing said is %d tokens", empty)
	}
}

func FuzzEstimate(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.Text)
	}
	f.Add("\xff\xfe\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		// A byte-level tokenizer makes at most one token of a byte, and at least one of a text.
		if got := llm.EstimateText(s); got > len(s)+1 || (got > 0) != (s != "") {
			t.Errorf("%q is %d tokens", s, got)
		}
	})
}
