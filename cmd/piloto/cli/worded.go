package cli

import (
	"errors"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

// worded returns an error with its part of the domain as a sentence.
func (a *app) worded(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return reworded(err, f, locale.OfFault(f).In(a.tag))
	}
	return err
}

// reworded returns an error that says a sentence in the place of what a part of it says.
func reworded(err, part error, sentence string) error {
	if whole := err.Error(); strings.Contains(whole, part.Error()) {
		sentence = strings.Replace(whole, part.Error(), sentence, 1)
	}
	return errors.New(sentence)
}
