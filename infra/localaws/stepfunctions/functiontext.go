package stepfunctions

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func codedArg(v any) (string, error) {
	s, err := textArg(v)
	if err == nil && len(utf16.Encode([]rune(s))) > maxCodedText {
		err = fmt.Errorf("the argument is longer than %d characters", maxCodedText)
	}
	return s, err
}

func base64Encode(args []any) (any, error) {
	s, err := codedArg(args[0])
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), nil
}

func base64Decode(args []any) (any, error) {
	s, err := codedArg(args[0])
	if err != nil {
		return nil, err
	}
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("the argument is not base64")
	}
	return strings.ToValidUTF8(string(out), string(utf8.RuneError)), nil
}

func hashOf(args []any) (any, error) {
	data := args[0]
	if _, ok := data.(string); !ok {
		data = string(encodeValue(data))
	}
	text, err := codedArg(data)
	if err != nil {
		return nil, err
	}
	name, err := textArg(args[1])
	if err != nil {
		return nil, err
	}
	var sum []byte
	switch name {
	case "MD5":
		h := md5.Sum([]byte(text))
		sum = h[:]
	case "SHA-1":
		h := sha1.Sum([]byte(text))
		sum = h[:]
	case "SHA-256":
		h := sha256.Sum256([]byte(text))
		sum = h[:]
	case "SHA-384":
		h := sha512.Sum384([]byte(text))
		sum = h[:]
	case "SHA-512":
		h := sha512.Sum512([]byte(text))
		sum = h[:]
	default:
		return nil, fmt.Errorf("the hash algorithm %q is not supported", name)
	}
	return hex.EncodeToString(sum), nil
}

// formatText replaces each {} of the template by the next argument.
func formatText(sources []expression, args []any) (any, error) {
	template, err := textArg(args[0])
	if err != nil {
		return nil, errors.New("the template must be a string")
	}
	if sources[0].path == nil && sources[0].call == nil {
		template = sources[0].raw
	}
	rest := args[1:]
	var b strings.Builder
	for i := 0; i < len(template); i++ {
		switch c := template[i]; {
		case c == '\\' && i+1 < len(template):
			i++
			b.WriteByte(template[i])
		case c == '{' && i+1 < len(template) && template[i+1] == '}':
			if len(rest) == 0 {
				return nil, errors.New("there are more {} than arguments")
			}
			i++
			b.WriteString(formatArgument(rest[0]))
			rest = rest[1:]
		case c == '{' || c == '}':
			return nil, errors.New("the template has an unmatched brace")
		default:
			b.WriteByte(c)
		}
	}
	if len(rest) > 0 {
		return nil, errors.New("there are more arguments than {}")
	}
	return b.String(), nil
}

// formatArgument writes an argument as AWS does: strings bare, arrays and
// objects like [1, a] and {key=value}.
func formatArgument(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = formatArgument(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case object:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = v[i].key + "=" + formatArgument(v[i].val)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return string(encodeValue(v))
}
