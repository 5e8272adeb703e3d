package settings

import (
	"errors"

	"github.com/spf13/pflag"

	"piloto/cmd/piloto/cli/ending"
)

// FlagError returns the error of the flags of a command, with a sentence instead of the text of pflag.
func FlagError(err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return ending.Refusal("cli.wrong.flag", "name", flagName(e.GetSpecifiedName(), e.GetSpecifiedShortnames()))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return ending.Refusal("cli.wrong.flag_empty", "name", flagName(e.GetSpecifiedName(), e.GetSpecifiedShortnames()))
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return valueError("--"+e.GetFlag().Name, e.GetValue(), e.GetFlag().Value.Type())
	}
	if e, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return ending.Refusal("cli.wrong.flag_written", "name", e.GetSpecifiedFlag())
	}
	return err
}

// flagName returns a flag as it was written: by its name, or by a letter, with those that stand behind it.
func flagName(name, letters string) string {
	if letters != "" {
		return "-" + letters
	}
	return "--" + name
}

// valueError returns the error of a value that a flag or a setting cannot have. Its type is as pflag names it.
func valueError(name, value, kind string) error {
	switch kind {
	case "bool", "int", "duration":
	case "count":
		kind = "int"
	default:
		kind = "other"
	}
	return ending.Refusal("cli.wrong.value."+kind, "name", name, "value", value)
}
