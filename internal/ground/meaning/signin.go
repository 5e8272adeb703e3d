package meaning

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// SignsIn reports whether an answer sends to where a person signs in: a redirect that is no other address of the same thing,
// to an address that names a sign-in. location is its Location.
func SignsIn(status int, location string) bool {
	to, err := url.Parse(strings.TrimSpace(location))
	if !Redirects(status) || Moved(status) || err != nil {
		return false
	}
	names := strings.FieldsFunc(strings.ToLower(to.Host+"/"+to.Path), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for name := range to.Query() {
		names = append(names, strings.ToLower(name))
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(signIns, name) }) ||
		strings.Contains(" "+strings.Join(names, " ")+" ", " sign in ") || strings.Contains(" "+strings.Join(names, " ")+" ", " log in ")
}

// signIns are the words of addresses where people sign in: of paths and hosts, and the parameters of OAuth and SAML.
var signIns = []string{
	"login", "signin", "logon", "signon", "sso", "saml", "saml2", "oauth", "oauth2", "oidc", "openid", "authorize", "authenticate", "authentication", "auth", "idp", "adfs",
	"accounts", "auth0", "okta", "cognito", "keycloak", "acceso", "acceder", "response_type", "client_id", "redirect_uri", "samlrequest",
}
