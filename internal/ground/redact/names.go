package redact

import (
	"strings"
	"sync"

	"piloto/internal/ground/lazy"
)

// kind is the kind of secret that a name announces.
type kind int

const (
	none     kind = iota
	weak          // the value is a secret when it is long and random
	short         // the value is a secret when it is no word and no small number
	token         // the value is a secret, unless it is a word of a sentence
	password      // as token, but a secret may also be a word
	scheme        // Authorization: a scheme and its value
	cookie        // the value takes the rest of the line
)

// names maps the words that announce a secret, in lower case and without separators.
var names = sync.OnceValue(func() map[string]kind {
	m := map[string]kind{}
	for k, list := range map[kind]string{
		scheme: "authorization proxyauthorization",
		cookie: "cookie setcookie",
		password: `password passwords passwd pwd passphrase passcode contrasena contrasenas contrasenya clave claves
			clavedeacceso clavesecreta frasedepaso palabradepaso codigodeacceso pgpassword mysqlpwd
			passwort kennwort motdepasse senha palavrapasse contrasenia contrasenias parola wachtwoord identifiedby psk presharedkey remotepass bindpw rootpw`,
		token: `token apikey apikeys accesstoken refreshtoken idtoken sessiontoken authtoken accesskey secret secrets
			clientsecret secretkey secretkeybase secretaccesskey privatekey signingkey encryptionkey masterkey accountkey
			sharedaccesskey sharedaccesssignature storagekey hmackey subscriptionkey licensekey credential credentials
			signature pilotosession claveapi clavedeapi claveprivada tokendeacceso tokenacceso secreto secretos
			secretodelcliente secretocliente credencial credenciales llaveprivada llaveapi llavedeapi phpsessid jsessionid
			connectsid apisecret`,
		short: "pass pw pin otp smtppass dbpass",
		weak:  "key code auth session sessionid sid sig jwt salt seed pat",
	} {
		for name := range strings.FieldsSeq(list) {
			m[name] = k
		}
	}
	return m
})

// ends lists the names that need no boundary before them, as in dbpassword.
var ends = []string{"password", "passwd", "passphrase", "contrasena", "apikey", "secretkey", "accesstoken", "authtoken", "clientsecret"}

// open lists names that announce no secret: page tokens, and keys for lookups.
var open = lazy.Words(`pagetoken nexttoken continuationtoken paginationtoken synctoken resumetoken public publickey primary partition sort foreign idempotency cache object routing dedup row composite
	unique natural index hash range lookup map translation idempotencykey`)

// maxName is the maximum number of characters that are read of a name, from its end.
const maxName = 48

// nameAt returns the kind of the name that ends before position to. Words joined by one blank are one name.
func (v *view) nameAt(to int) kind {
	e := to
	for e > 0 && to-e < 4 && (isDigit(v.sign(e-1)) || v.sign(e-1) == '_') { // password_1
		e--
	}
	var back [maxName]byte // lower case, filled from its end
	n, blanks, best := maxName, 0, none
	for i := e - 1; i >= 0 && n > 0; i-- {
		c := v.sign(i)
		if isBlank(c) {
			if blanks++; blanks > 3 || !isLetter(v.sign(i-1)) {
				break
			}
			continue
		}
		if c == '-' || c == '_' || c == '.' {
			continue
		}
		if !isAlnum(c) {
			break
		}
		n--
		back[n] = lower(c)
		if v.begins(i) {
			if open()[string(back[n:])] {
				return none
			} else if k, ok := names()[string(back[n:])]; ok {
				best = k
			} else if best == weak && open()[strings.TrimSuffix(string(back[n:]), "key")] {
				return none
			}
		}
	}
	if best == none {
		for _, name := range ends {
			if strings.HasSuffix(string(back[n:]), name) {
				return names()[name]
			}
		}
	}
	return best
}

// begins reports whether a part of a name begins at i: after a separator, or with a capital letter.
func (v *view) begins(i int) bool {
	before, c := v.sign(i-1), v.sign(i)
	return !isAlnum(before) || isUpper(c) && (isLower(before) || isLower(v.sign(i+1))) || isDigit(before) && isLetter(c)
}

// Name reports whether a member, a header or an attribute with this name holds a secret. "token_id" and "tokens" do
// not: they name a hash and a count.
func Name(name string) bool {
	if len(name) > 64 {
		return false
	}
	v := newView(name)
	if n := len(v.signs); n == 0 || !isAlnum(v.signs[n-1]) {
		return false
	}
	return v.nameAt(len(v.signs)) >= token
}
