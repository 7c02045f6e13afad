#include "secrets/encoded_forms.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace polybox::secrets {
namespace {

constexpr const char* kValue = "p4ss/W0rd+\"x\" & <y>=?~";

bool HasForm(std::string_view value, std::string_view text) {
  return std::ranges::count(FormsOf(value), text, &Form::text) != 0;
}

TEST(EncodedForms, HaveWhatCommonEncodersWrite) {
  for (const char* text : {
           // Of base64 -w0, with 0, 1 and 2 bytes before: what the value alone determines.
           "cDRzcy9XMHJkKyJ4IiAmIDx5Pj0/f",
           "A0c3MvVzByZCsieCIgJiA8eT49P3",
           "wNHNzL1cwcmQrIngiICYgPHk+PT9+",
           // url-safe
           "cDRzcy9XMHJkKyJ4IiAmIDx5Pj0_f",
           // Python: quote(safe=""), quote(), quote_plus(); JavaScript: encodeURI
           "p4ss%2FW0rd%2B%22x%22%20%26%20%3Cy%3E%3D%3F~",
           "p4ss/W0rd%2B%22x%22%20%26%20%3Cy%3E%3D%3F~",
           "p4ss%2FW0rd%2B%22x%22+%26+%3Cy%3E%3D%3F~",
           "p4ss/W0rd+%22x%22%20&%20%3Cy%3E=?~",
           "p4ss%2fW0rd%2b%22x%22%20%26%20%3cy%3e%3d%3f~",
           // json.dumps, PHP's json_encode, Go's encoding/json
           "p4ss/W0rd+\\\"x\\\" & <y>=?~",
           "p4ss\\/W0rd+\\\"x\\\" & <y>=?~",
           "p4ss/W0rd+\\\"x\\\" \\u0026 \\u003cy\\u003e=?~",
           // xxd -p and od -t x1
           "703473732f573072642b2278222026203c793e3d3f7e",
           "70 34 73 73 2f 57 30 72 64 2b 22 78 22 20 26 20 3c 79 3e 3d 3f 7e",
           // html.escape
           "p4ss/W0rd+&quot;x&quot; &amp; &lt;y&gt;=?~",
       }) {
    EXPECT_TRUE(HasForm(kValue, text)) << text;
  }
  EXPECT_TRUE(HasForm("sch\xc3\xb6n-4711", "sch\\u00f6n-4711"));
  EXPECT_TRUE(HasForm("key-\xf0\x9f\x94\x91-4711", "key-\\ud83d\\udd11-4711"));
}

TEST(EncodedForms, AreAllDifferentAndLongEnoughForTheScanner) {
  for (const std::string_view value : {"12345678", "abc defg", "\n\n\n\n\n\n\n\n", "aaaaaaaaa"}) {
    const std::vector<Form> forms = FormsOf(value);
    EXPECT_EQ(forms.front().text, value);
    for (const Form& form : forms) {
      EXPECT_GE(form.text.size(), kShortestValue) << form.text;
      EXPECT_EQ(std::ranges::count(forms, form.text, &Form::text), 1) << form.text;
    }
  }
}

}  // namespace
}  // namespace polybox::secrets
