// Compiles the code of fmt, once for the whole program. Debian offers fmt as a shared library or as
// headers. With the shared library, the binary of polybox would need it on each host. With headers
// alone, every file that formats text would take seconds longer to compile.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// The headers declare these templates as instantiated elsewhere; this file instantiates them.
template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;

}  // namespace detail
FMT_END_NAMESPACE
