#include "secrets/shape.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "secrets/matcher.h"

namespace polybox::secrets {
namespace {

const Matcher& Builtin() {
  static const Matcher matcher({}, BuiltinShapes().value(), {});
  return matcher;
}

/// Returns the text as an agent gets it.
std::string Scrubbed(std::string_view text) {
  std::string scrubbed;
  std::size_t done = 0;
  for (const Hit& hit : Builtin().Find(text)) {
    scrubbed += text.substr(done, hit.span.begin - done);
    scrubbed += '<' + std::string(hit.label) + '>';
    done = hit.span.end;
  }
  return scrubbed + std::string(text.substr(done));
}

/// A run of characters as random as a token's, but no token of anybody.
std::string RandomRun(std::size_t size, std::string_view characters) {
  std::mt19937 random(4711);
  std::string run;
  while (run.size() < size) run += characters[random() % characters.size()];
  return run;
}

std::string Letters(std::size_t size) {
  return RandomRun(size, "k3Qx9Bv7LmZp2Tr8WnYc5Hd4JgFs6Ae1");
}
std::string Hex(std::size_t size) {
  return RandomRun(size, "3f9a0c7e5b1d8264");
}

TEST(Shapes, RemoveTheTokensOfEachIssuer) {
  const std::vector<std::pair<std::string, const char*>> rows = {
      {"AKIAIOSFODNN7EXAMPLE", "aws-access-key"},
      {"AIza" + Letters(35), "google-api-key"},
      {"GOCSPX-" + Letters(28), "google-oauth-secret"},
      {"ya29." + Letters(60), "google-oauth-token"},
      {"AccountKey=" + Letters(86) + "==", "azure-storage-key"},
      {"dop_v1_" + Hex(64), "digitalocean-token"},
      {"dapi" + Hex(32), "databricks-token"},
      {"ghp_" + Letters(36), "github-token"},
      {"ghs_" + Letters(36), "github-token"},
      {"github_pat_" + Letters(22) + "_" + Letters(59), "github-fine-grained-token"},
      {"glpat-" + Letters(20), "gitlab-token"},
      {"npm_" + Letters(36), "npm-token"},
      {"pypi-AgEIcHlwaS5vcmc" + Letters(100), "pypi-token"},
      {"rubygems_" + Hex(48), "rubygems-token"},
      {"dckr_pat_" + Letters(27), "docker-token"},
      {"hf_" + Letters(34), "huggingface-token"},
      {"sk-ant-api03-" + Letters(95), "anthropic-api-key"},
      {"sk-" + Letters(48), "openai-api-key"},
      {"sk-proj-" + Letters(120), "openai-api-key"},
      {"sk-or-v1-" + Hex(64), "openrouter-api-key"},
      {"sk_live_" + Letters(24), "stripe-key"},
      {"rk_test_" + Letters(24), "stripe-key"},
      {"whsec_" + Letters(32), "stripe-webhook-secret"},
      {"xoxb-123456789012-" + Letters(24), "slack-token"},
      {"hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/" + Letters(24), "slack-webhook"},
      {"SG." + Letters(22) + "." + Letters(43), "sendgrid-token"},
      {"shpat_" + Hex(32), "shopify-token"},
      {"hvs." + Letters(90), "vault-token"},
      {"glsa_" + Letters(32) + "_" + Hex(8), "grafana-token"},
      {"lin_api_" + Letters(40), "linear-token"},
      {"ntn_" + Letters(46), "notion-token"},
      {"AGE-SECRET-KEY-1" + RandomRun(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"), "age-secret-key"},
      {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NzExIn0." + Letters(43), "jwt"},
  };
  std::set<std::string> seen;
  for (const auto& [token, label] : rows) {
    const std::string wanted = "<" + std::string(label) + ">";
    EXPECT_EQ(Scrubbed(token), wanted) << token;
    EXPECT_EQ(Scrubbed("see \"" + token + "\", and go on."), "see \"" + wanted + "\", and go on.");
    EXPECT_EQ(Scrubbed("{\"a\": \"x\\n" + token + "\"}"), "{\"a\": \"x\\n" + wanted + "\"}");
    seen.insert(label);
  }
  // Those below have tests of their own.
  seen.insert({"private-key", "credential", "authorization", "url-password"});
  const std::vector<Shape> shapes = BuiltinShapes().value();
  for (const Shape& shape : shapes) EXPECT_TRUE(seen.contains(shape.name)) << shape.name;
}

TEST(Shapes, RemoveTheLinesOfAPrivateKey) {
  const std::string line = Letters(64);
  const std::string key = "-----BEGIN RSA PRIVATE KEY-----\n" + line + "\n" + Letters(20) +
                          "==\n-----END RSA PRIVATE KEY-----\n";
  EXPECT_EQ(Scrubbed("a\n" + key + "b"),
            "a\n-----BEGIN RSA PRIVATE KEY-----\n<private-key>\n<private-key>\n"
            "-----END RSA PRIVATE KEY-----\nb");
  // as Read shows it, as JSON has it, and without its end
  EXPECT_EQ(
      Scrubbed("7\t-----BEGIN PRIVATE KEY-----\n8\t" + line + "\n9\t-----END PRIVATE KEY-----\n"),
      "7\t-----BEGIN PRIVATE KEY-----\n8\t<private-key>\n9\t-----END PRIVATE KEY-----\n");
  EXPECT_EQ(
      Scrubbed("\"-----BEGIN PRIVATE KEY-----\\n" + line + "\\n-----END PRIVATE KEY-----\\n\""),
      "\"-----BEGIN PRIVATE KEY-----\\n<private-key>\\n-----END PRIVATE KEY-----\\n\"");
  EXPECT_EQ(Scrubbed("-----BEGIN EC PRIVATE KEY-----\n" + line),
            "-----BEGIN EC PRIVATE KEY-----\n<private-key>");
  const std::string certificate =
      "-----BEGIN CERTIFICATE-----\n" + line + "\n-----END CERTIFICATE-----";
  EXPECT_EQ(Scrubbed(certificate), certificate);
}

TEST(Shapes, RemoveValuesOfNamesThatSaySo) {
  const std::string value = Letters(24);
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"OPENAI_API_KEY=" + value, "OPENAI_API_KEY=<credential>"},
      {"GITHUB_TOKEN=" + value + "\nA=b", "GITHUB_TOKEN=<credential>\nA=b"},
      {"X_TOKEN=ghp_" + Letters(36), "X_TOKEN=<github-token>"},
      {"export DB_PASSWORD=hunter2x", "export DB_PASSWORD=<credential>"},
      {"CODEGEN_SANDBOX_CLIENT_SECRET=" + value, "CODEGEN_SANDBOX_CLIENT_SECRET=<credential>"},
      {"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
       "AWS_SECRET_ACCESS_KEY=<credential>"},
      {"aws_secret_access_key = " + Letters(40), "aws_secret_access_key = <credential>"},
      {"  password: \"" + value + "\"", "  password: \"<credential>\""},
      {"{\"apiKey\": \"" + value + "\"}", "{\"apiKey\": \"<credential>\"}"},
      {"{\\\"token\\\":\\\"" + value + "\\\"}", "{\\\"token\\\":\\\"<credential>\\\"}"},
      {"client_secret='" + value + "'", "client_secret='<credential>'"},
      {"Authorization: Bearer mF_9.B5f-4.1JqM", "Authorization: Bearer <authorization>"},
      {"-H 'Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='",
       "-H 'Authorization: Basic <authorization>'"},
      {"postgres://app:9fK2xQ7bLm@db:5432/x", "postgres://app:<url-password>@db:5432/x"},
  };
  for (const auto& [text, scrubbed] : rows) EXPECT_EQ(Scrubbed(text), scrubbed);
}

TEST(Shapes, LeaveSourceCodeAsItIs) {
  for (const char* line : {
           "token = strings.TrimSpace(x)",
           "if token == nil {",
           "const SECRET = process.env.X",
           "class=\"sk-loading-spinner-container-large\"",
           ".sk-folding-cube .sk-cube2:before { animation-delay: 0.3s }",
           "password = getpass.getpass('Password for ' + user + ': ')",
           "self.token_type = \"Bearer\"",
           "token: Token1 | None = None",
           "API_KEY = os.environ[\"OPENAI_API_KEY2\"]",
           "SECRET_KEY=$(openssl rand -hex 32)",
           "TOKEN=${GITHUB_TOKEN:?set it2}",
           "password=\"correct horse battery staple\"",
           "token = \"this-is-the-name-of-a-token\"",
           "private_key = load_pem_private_key(data, password=None)",
           "http://user:password@example.com/",
           "https://registry.example.org:8080/@scope/name",
           "Bearer authentication is described below.",
           "-----BEGIN PRIVATE KEY-----",
           "if (line == \"-----BEGIN RSA PRIVATE KEY-----\") key = \"\";",
           "import { eyJsFoo } from \"./eyJ.min.js\"",
           "npm_config_registry=https://registry.npmjs.org/",
           "xoxb-your-token-here",
           "AKIAXXXXXXXXXXXXXXXX",
           "token_secret_access_key_id_table_name2 = 5",
           "git checkout ghp_pages",
           "'secret': 'V1SecretVolumeSource',",
           "secret = \"projects/123/secrets/my-secret/versions/1\"",
           "private_key: PKCS7PrivateKeyTypes,",
           "static const std::string kToken = \"sk-or-not-sk-that-is-the-question\";",
       }) {
    EXPECT_EQ(Scrubbed(line), line);
  }
}

TEST(Shapes, ARowThatIsWrongIsNamed) {
  const Result<std::vector<Shape>> shapes = ParseShapes(
      "[[shape]]\nname = \"A b\"\nstarts = [\"ab\"]\nshortest = 5\nlongest = 2\ncharacters = "
      "\"a\"\n",
      "x.toml");
  ASSERT_FALSE(shapes.ok());
  for (const char* part : {"name", "starts", "longest", "reason"}) {
    EXPECT_NE(shapes.error().message().find(part), std::string::npos) << shapes.error().message();
  }
}

}  // namespace
}  // namespace polybox::secrets
