package stepfunctions

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"slices"
	"strings"
)

// An intrinsic is a function of the States namespace with its number of
// arguments. Exactly one of run and format is set; format also sees the
// unevaluated arguments.
type intrinsic struct {
	least, most int
	run         func(args []any) (any, error)
	format      func(sources []expression, args []any) (any, error)
}

const anyNumber = math.MaxInt

var intrinsics = map[string]*intrinsic{
	"States.Array":          {0, anyNumber, func(a []any) (any, error) { return a, nil }, nil},
	"States.ArrayPartition": {2, 2, arrayPartition, nil},
	"States.ArrayContains":  {2, 2, arrayContains, nil},
	"States.ArrayRange":     {3, 3, arrayRange, nil},
	"States.ArrayGetItem":   {2, 2, arrayGetItem, nil},
	"States.ArrayLength":    {1, 1, arrayLength, nil},
	"States.ArrayUnique":    {1, 1, arrayUnique, nil},
	"States.Base64Encode":   {1, 1, base64Encode, nil},
	"States.Base64Decode":   {1, 1, base64Decode, nil},
	"States.Hash":           {2, 2, hashOf, nil},
	"States.JsonMerge":      {3, 3, jsonMerge, nil},
	"States.JsonToString":   {1, 1, func(a []any) (any, error) { return string(encodeValue(a[0])), nil }, nil},
	"States.StringToJson":   {1, 1, stringToJSON, nil},
	"States.MathRandom":     {2, 3, mathRandom, nil},
	"States.MathAdd":        {2, 2, mathAdd, nil},
	"States.StringSplit":    {2, 2, stringSplit, nil},
	"States.UUID":           {0, 0, func([]any) (any, error) { return newUUID(), nil }, nil},
	"States.Format":         {1, anyNumber, nil, formatText},
}

// AWS's bounds on arguments and results.
const (
	maxRange     = 1000   // items of States.ArrayRange
	maxCodedText = 10_000 // characters of States.Base64* and States.Hash
)

func arrayArg(v any) ([]any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("the argument must be an array")
	}
	return list, nil
}

func textArg(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", errors.New("the argument must be a string")
	}
	return s, nil
}

// intArg accepts any number and rounds it to the nearest integer, a half upwards, as
// recorded: -1.5 is -1.
func intArg(v any) (int, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, errors.New("the argument must be a number")
	}
	if i, ok := integer(n); ok && i >= -1<<53 && i <= 1<<53 {
		return i, nil
	}
	f, _ := new(big.Float).SetRat(toRat(n)).Float64()
	f = math.Floor(f + 0.5)
	if math.Abs(f) > 1<<53 {
		return 0, errors.New("the argument is out of range")
	}
	return int(f), nil
}

func arrayPartition(args []any) (any, error) {
	list, err := arrayArg(args[0])
	if err != nil {
		return nil, err
	}
	size, err := intArg(args[1])
	if err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, errors.New("the chunk size must be a positive integer")
	}
	out := []any{}
	for len(list) > 0 {
		n := min(size, len(list))
		out = append(out, list[:n:n])
		list = list[n:]
	}
	return out, nil
}

func arrayContains(args []any) (any, error) {
	list, err := arrayArg(args[0])
	if err != nil {
		return nil, err
	}
	for _, item := range list {
		if equalValues(item, args[1]) {
			return true, nil
		}
	}
	return false, nil
}

func arrayRange(args []any) (any, error) {
	var bounds [3]int
	for i := range bounds {
		n, err := intArg(args[i])
		if err != nil {
			return nil, err
		}
		bounds[i] = n
	}
	first, last, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, errors.New("the step must not be zero")
	}
	if (last-first)/step >= maxRange {
		return nil, fmt.Errorf("the range has more than %d items", maxRange)
	}
	out := []any{}
	for i := first; step > 0 && i <= last || step < 0 && i >= last; i += step {
		out = append(out, number(i))
	}
	return out, nil
}

func arrayGetItem(args []any) (any, error) {
	list, err := arrayArg(args[0])
	if err != nil {
		return nil, err
	}
	i, err := intArg(args[1])
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(list) {
		return nil, fmt.Errorf("the index %d is out of bounds of an array of length %d", i, len(list))
	}
	return list[i], nil
}

func arrayLength(args []any) (any, error) {
	list, err := arrayArg(args[0])
	if err != nil {
		return nil, err
	}
	return number(len(list)), nil
}

func arrayUnique(args []any) (any, error) {
	list, err := arrayArg(args[0])
	if err != nil {
		return nil, err
	}
	out := []any{}
	seen := map[string][]any{} // grouped, so that few values are compared
	for _, item := range list {
		like := string(appendLikeness(nil, item))
		if slices.ContainsFunc(seen[like], func(old any) bool { return equalValues(item, old) }) {
			continue
		}
		seen[like] = append(seen[like], item)
		out = append(out, item)
	}
	return out, nil
}

func jsonMerge(args []any) (any, error) {
	left, okL := args[0].(object)
	right, okR := args[1].(object)
	deep, okD := args[2].(bool)
	switch {
	case !okL || !okR:
		return nil, errors.New("the first two arguments must be JSON objects")
	case !okD:
		return nil, errors.New("the third argument must be a boolean")
	case deep:
		return nil, errors.New("deep merging is not supported: the third argument must be false")
	}
	out := append(object{}, left...)
	at := make(map[string]int, len(left))
	for i := range left {
		at[left[i].key] = i
	}
	for _, m := range right {
		if i, ok := at[m.key]; ok {
			out[i].val = m.val
			continue
		}
		out = append(out, m)
	}
	return out, nil
}

// stringToJSON reads a blank text as null, as recorded.
func stringToJSON(args []any) (any, error) {
	s, err := textArg(args[0])
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	v, err := parseValue([]byte(s))
	if err != nil {
		return nil, errors.New("the argument is not valid JSON")
	}
	return v, nil
}

// mathRandom returns an integer in [start, end); a seed makes it repeatable.
func mathRandom(args []any) (any, error) {
	var n [3]int
	for i := range args {
		v, err := intArg(args[i])
		if err != nil {
			return nil, err
		}
		n[i] = v
	}
	if n[0] >= n[1] {
		return nil, errors.New("the start of the range must be less than its end")
	}
	span := int64(n[1] - n[0])
	if len(args) == 3 {
		source := mathrand.New(mathrand.NewPCG(uint64(n[2]), 0))
		return number(n[0] + int(source.Int64N(span))), nil
	}
	return number(n[0] + int(mathrand.Int64N(span))), nil
}

func mathAdd(args []any) (any, error) {
	a, err := intArg(args[0])
	if err != nil {
		return nil, err
	}
	b, err := intArg(args[1])
	if err != nil {
		return nil, err
	}
	return number(a + b), nil
}

// stringSplit cuts at every character of the splitter and drops empty parts.
func stringSplit(args []any) (any, error) {
	s, err := textArg(args[0])
	if err != nil {
		return nil, err
	}
	splitter, err := textArg(args[1])
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(splitter, r) }) {
		out = append(out, part)
	}
	return out, nil
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
