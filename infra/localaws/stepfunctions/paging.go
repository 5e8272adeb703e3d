package stepfunctions

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// pageInput is the paging part of a list request.
type pageInput struct {
	MaxResults int     `json:"maxResults"`
	NextToken  *string `json:"nextToken"`
}

// page returns the limit of a page and the key after which it begins, from the token. A token is
// bound to its scope: the kind of the list and its filter.
func (in *pageInput) page(scope string, longest int) (limit int, after string, err error) {
	switch {
	case in.MaxResults < 0:
		return 0, "", invalid(strconv.Itoa(in.MaxResults), "maxResults", "Member must have value greater than or equal to 0")
	case in.MaxResults > maxPage:
		return 0, "", invalid(strconv.Itoa(in.MaxResults), "maxResults", "Member must have value less than or equal to 1000")
	}
	limit = in.MaxResults
	if limit == 0 {
		limit = defaultPage
	}
	if in.NextToken == nil {
		return limit, "", nil
	}
	token := *in.NextToken
	switch {
	case token == "":
		return 0, "", invalid(token, "nextToken", "Member must have length greater than or equal to 1")
	case len(token) > longest:
		return 0, "", invalid(token, "nextToken", "Member must have length less than or equal to "+strconv.Itoa(longest))
	}
	text, err := base64.StdEncoding.DecodeString(token)
	got, after, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok || got != scope {
		return 0, "", refuse("InvalidToken", "Invalid Token: 'Invalid token'")
	}
	return limit, after, nil
}

func pageToken(scope, after string) string {
	return base64.StdEncoding.EncodeToString([]byte(scope + "\x00" + after))
}
