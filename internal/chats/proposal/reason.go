package proposal

import (
	"strings"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

// reason returns the errors of a proposal in one line, for a person.
func reason(wrong []fault.Field) locale.Phrase {
	const most = 3
	all := locale.Joined{Between: "; "}
	for _, f := range wrong[:min(most, len(wrong))] {
		where := []locale.Phrase{wrongPhrase(f)}
		if at := toolcall.Location(f.Loc); at != "" {
			where = append([]locale.Phrase{locale.Verbatim(at)}, where...)
		}
		all.Phrases = append(all.Phrases, locale.Joined{Phrases: where, Between: ": "})
	}
	if len(wrong) > most {
		all.Phrases = append(all.Phrases, locale.Verbatim("…"))
	}
	return all
}

// wrongPhrase is an error of a proposal as a sentence for the user: its reason, or a sentence for its type where its own
// text, which is English and for a model, cannot be used.
type wrongPhrase fault.Field

// In returns the sentence in a language.
func (f wrongPhrase) In(tag locale.Tag) string {
	switch {
	case tag == locale.English && f.Msg != "":
		return f.Msg
	case f.Why != nil:
		return locale.OfFault(f.Why).In(tag)
	}
	const prefix = "fault.plan.invalid."
	for i := len(f.Loc) - 1; i >= 0; i-- {
		if name, ok := f.Loc[i].(string); ok && locale.Exists(prefix+name+"."+f.Type) {
			return locale.Say(prefix+name+"."+f.Type, "detail", strings.TrimPrefix(f.Msg, f.Type+": ")).In(tag)
		}
	}
	if locale.Exists(prefix + "steps." + f.Type) {
		return locale.Say(prefix+"steps."+f.Type, "detail", strings.TrimPrefix(f.Msg, f.Type+": ")).In(tag)
	}
	return locale.Text(tag, prefix+"steps.other")
}

// OfCall removes the step from the locations of errors in a call that is one step.
func OfCall(wrong []fault.Field) []fault.Field {
	for i, f := range wrong {
		if len(f.Loc) >= 2 && f.Loc[0] == "steps" {
			wrong[i].Loc = f.Loc[2:]
		}
	}
	return wrong
}
