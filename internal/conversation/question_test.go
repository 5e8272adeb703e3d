package conversation_test

import (
	"testing"

	"piloto/internal/conversation"
)

func TestAnAnswerNamesAnOption(t *testing.T) {
	colours, counts := conversation.NewOptions([]string{"Azul", "Verde"}), conversation.NewOptions([]string{"2", "4"})
	for _, c := range []struct {
		options      []conversation.Option
		answer, want string
	}{
		{colours, "2", "Verde"},
		{colours, " 1. ", "Azul"},
		{colours, "azul", "Azul"},
		{colours, "3", "3"},
		{colours, "el 2", "el 2"},
		{colours, "", ""},
		{counts, "2", "2"},
		{counts, "1", "2"},
		{counts, "4", "4"},
		{nil, "1", "1"},
	} {
		if got := conversation.Choose(c.options, c.answer); got != c.want {
			t.Errorf("%q is %q", c.answer, got)
		}
	}
}

func TestAQuestionIsOpenWhileNothingElseIsSaid(t *testing.T) {
	ask := conversation.Message{ID: "q", Kind: conversation.KindText, Role: conversation.RoleAssistant, Asks: true}
	of := func(kind conversation.Kind) conversation.Message { return conversation.Message{Kind: kind} }
	replaced := conversation.Message{Kind: conversation.KindText, ReplacedBy: "x"}
	for name, c := range map[string]struct {
		after []conversation.Message
		open  bool
	}{
		"last":     {nil, true},
		"a run":    {[]conversation.Message{of(conversation.KindProgress), of(conversation.KindFinal)}, true},
		"replaced": {[]conversation.Message{replaced}, true},
		"a text":   {[]conversation.Message{of(conversation.KindText)}, false},
		"a card":   {[]conversation.Message{of(conversation.KindPlan), of(conversation.KindProgress)}, false},
		"a notice": {[]conversation.Message{of(conversation.KindNotice)}, false},
		"told":     {[]conversation.Message{of(conversation.KindConclusion)}, false},
	} {
		if q, open := conversation.OpenQuestion(append([]conversation.Message{ask}, c.after...)); open != c.open || open && q.ID != "q" {
			t.Errorf("%s: %v", name, open)
		}
	}
	if _, open := conversation.OpenQuestion(nil); open {
		t.Error("an empty chat asks")
	}
}
