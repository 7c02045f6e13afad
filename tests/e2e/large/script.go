package main

import (
	"crypto/tls"
	"database/sql"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"regexp"
)

func main() {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]int{"a": 1})
	})
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
	fmt.Print(answer.Body)
	_ = tls.VersionTLS13
	_ = sql.ErrNoRows
	_ = template.New("x")
	fmt.Println(regexp.MustCompile("a+").MatchString("aa"))
}
